#include "route/errand.h"

#include <fmt/format.h>

#include "mcp/errors.h"
#include "mcp/rewrite.h"

namespace lineward::route {

using mcp::EndReason;
using mcp::Field;

Errand::~Errand() {
  *alive_ = false;
  cancel("nobody waits for it any more");
}

void Errand::ask(core::CallRequest request, std::chrono::milliseconds limit, Done done, Heard heard) {
  done_ = std::move(done);
  heard_ = std::move(heard);
  request.headers = member_->headers_for_it(request.headers);
  lease_ = member_->lease();
  auto call = member_->upstream.start(std::move(request), *this);
  if (!call) {
    loop_.defer([this, alive = alive_, failure = call.error()] {
      if (*alive) finish(Unexpected<core::Failure>{failure});
    });
    return;
  }
  call_ = std::move(*call);
  limit_.start(limit, [this, limit] {
    if (call_ && call_->live()) call_->cancel("its part did not come in time");
    finish(Unexpected<core::Failure>{
        {EndReason::timeout_request,
         fmt::format("{} did not answer within {} ms (lineward aggregate.partTimeout)", member_->name,
                     limit.count()),
         limit.count()}});
  });
}

void Errand::cancel(std::string_view why) {
  done_ = nullptr;
  limit_.stop();
  if (call_ && call_->live()) call_->cancel(why);
}

void Errand::on_call_message(mcp::Message message) {
  switch (message.kind()) {
    case mcp::MessageKind::result:
    case mcp::MessageKind::error: return finish(std::move(message));
    case mcp::MessageKind::request:
      if (call_)
        call_->reply(
            mcp::error_message(message.raw(Field::id), mcp::kMethodNotFound, "this client cannot be asked"));
      return;
    case mcp::MessageKind::notification:
      if (heard_) heard_(std::move(message));
      return;
  }
}

void Errand::on_call_failed(const core::Failure& failure) {
  finish(Unexpected<core::Failure>{failure});
}

// What has just answered is on the stack.
void Errand::finish(Result<mcp::Message, core::Failure> answer) {
  limit_.stop();
  loop_.retire(std::move(call_));
  if (Done done = std::exchange(done_, nullptr)) done(std::move(answer));
}

core::CallRequest own_request(const core::CallRequest& like, mcp::Method method, std::string_view members) {
  std::string meta;
  auto add = [&](std::string_view key, std::string_view raw) {
    if (!raw.empty()) meta += fmt::format("{}\"{}\":{}", meta.empty() ? "" : ",", key, raw);
  };
  add("io.modelcontextprotocol/protocolVersion", like.message.raw(Field::meta_protocol_version));
  add("io.modelcontextprotocol/clientInfo", like.message.raw(Field::meta_client_info));
  add("io.modelcontextprotocol/clientCapabilities", like.message.raw(Field::meta_client_capabilities));
  core::CallRequest request;
  auto message = mcp::Message::parse(
      fmt::format(R"({{"jsonrpc":"2.0","id":0,"method":"{}","params":{{{}{}"_meta":{{{}}}}}}})",
                  mcp::row(method)->name, members, members.empty() ? "" : ",", meta));
  if (message) request.message = std::move(*message);
  request.method = method;
  request.client_era = mcp::Era::modern;
  request.scope = like.scope;
  request.client_on_stdio = like.client_on_stdio;
  request.of_gateway = true;
  core::HeaderFields headers;
  for (const auto& header : like.headers) {
    if (header.first.size() < 4 ||
        (header.first.compare(0, 4, "Mcp-") != 0 && header.first.compare(0, 4, "mcp-") != 0))
      headers.push_back(header);
  }
  request.headers = std::move(headers);
  return request;
}

}  // namespace lineward::route
