// Batches in sessions of 2025-03-26, the only revision that has them: the other half of client/http_front.h.
#include <fmt/format.h>

#include "client/batch_reply.h"
#include "client/http_front.h"
#include "mcp/errors.h"
#include "mcp/rewrite.h"

namespace lineward::client {
namespace {

using mcp::Field;

constexpr std::string_view kRevision = "2025-03-26";
constexpr size_t kMostInBatch = 100;

}  // namespace

void HttpFront::post_batch(ClientConnection& connection, const std::string& server, const std::string& body) {
  const http::HeaderList& headers = connection.head().headers;
  auto refused = [&](std::string text) {
    refuse(connection, {400, mcp::kInvalidRequest, std::move(text), {}, {}});
  };
  Session* session = find_session(connection);
  if (session == nullptr || session->revision != kRevision || session->upstream != server)
    return refused("batches are served in sessions of 2025-03-26 only");
  if (auto refusal = check_legacy_version(headers, session->revision)) return refuse(connection, *refusal);
  std::vector<std::string> elements = mcp::batch_elements(body);
  if (elements.empty()) return refused("a batch is an array of one message or more");
  if (elements.size() > kMostInBatch)
    return refused(fmt::format("a batch holds at most {} messages", kMostInBatch));
  sessions_.touch(*session);

  std::vector<mcp::Message> requests;
  std::vector<mcp::Message> rest;
  std::vector<std::string> errors;
  for (std::string& element : elements) {
    auto parsed = mcp::Message::parse(std::move(element), static_cast<int>(config_.max_depth));
    if (!parsed) {
      errors.push_back(mcp::error_message(parsed.error().raw_id, mcp::kInvalidRequest, parsed.error().text));
    } else if (parsed->kind() != mcp::MessageKind::request) {
      rest.push_back(std::move(*parsed));
    } else if (mcp::method_of(parsed->method()) == mcp::Method::initialize) {
      errors.push_back(mcp::error_message(parsed->raw(Field::id), mcp::kInvalidRequest,
                                          "initialize is never part of a batch"));
    } else {
      requests.push_back(std::move(*parsed));
    }
  }

  std::string session_id = session->id;
  core::Arrival pattern;
  pattern.era = mcp::Era::legacy;
  pattern.revision = session->revision;
  pattern.upstream = server;
  pattern.session = session_id;
  pattern.principal = session->principal;
  pattern.peer = connection.peer();
  pattern.wait = preferred_wait(headers);
  pattern.headers = forwarded(connection, server, false);
  pattern.caller = connection.caller();
  pattern.account = session->account();
  pattern.seen = seen_by_plugins(connection);

  for (size_t i = 0; i < errors.size(); ++i)
    note_refused(connection, 200, mcp::EndReason::invalid_request, "an element of a batch is no message");
  bool answers = !requests.empty() || !errors.empty();
  if (!answers) {
    connection.respond(202, {}, {});
  } else {
    start_batch(connection, *session, pattern, std::move(requests), errors);
  }
  for (mcp::Message& message : rest) {
    core::Arrival arrival = pattern;
    arrival.method = mcp::method_of(message.method());
    arrival.bytes_in = message.bytes().size();
    arrival.message = std::move(message);
    if (door_.judge(arrival)) continue;  // there is no answer to tell it by
    if (arrival.message.kind() == mcp::MessageKind::notification) {
      door_.notified(std::move(arrival));
    } else {
      door_.answered(session_id, std::move(arrival.message));
    }
  }
}

// Its replies are all there before the first exchange begins, so that none of them looks like the last.
void HttpFront::start_batch(ClientConnection& connection, Session& session, const core::Arrival& pattern,
                            std::vector<mcp::Message> requests, const std::vector<std::string>& errors) {
  auto ids = std::make_shared<std::vector<core::ExchangeId>>();
  SessionStream& stream = session.open_post_stream([this, ids](mcp::EndReason why) {
    for (core::ExchangeId id : *ids)
      door_.client_gone(id, why);
  });
  stream.attach(transport(connection, session, stream, {}));
  auto batch = std::make_shared<Batch>(Batch{sessions_, session.id, stream.number()});
  batch->as_array = !accepts(connection.head().headers).events;
  std::vector<std::unique_ptr<BatchReply>> replies;
  for (size_t i = 0; i < requests.size() + errors.size(); ++i)
    replies.push_back(std::make_unique<BatchReply>(batch));
  for (const std::string& error : errors) {
    replies.back()->finish(error, 200);
    replies.pop_back();
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    core::Arrival arrival = pattern;
    arrival.method = mcp::method_of(requests[i].method());
    arrival.bytes_in = requests[i].bytes().size();
    arrival.message = std::move(requests[i]);
    ids->push_back(door_.start(std::move(arrival), std::move(replies[i])));
  }
}

}  // namespace lineward::client
