#include "proxy/client/stdio/stdio_front.h"

#include <fmt/format.h>

#include "foundation/json/json_splice.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/revision.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/audit/audit.h"
#include "proxy/client/http/admission.h"
#include "proxy/metrics/stats.h"

namespace lineward::client {
namespace {

using mcp::EndReason;
using mcp::Era;
using mcp::Field;
using mcp::Method;

constexpr std::string_view kPrincipal = "anonymous";
constexpr size_t kMaxHeld = 1024;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
// Lines read in one turn of the loop; the rest is read in the next one.
constexpr size_t kLinesPerTurn = 256;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// An id that may be echoed in an answer.
bool is_id(std::string_view raw) {
  return !raw.empty() &&
         (raw.front() == '"' || raw.front() == '-' || (raw.front() >= '0' && raw.front() <= '9'));
}

}  // namespace

StdioFront::StdioFront(net::Loop& loop, const config::Listen& config, std::string server,
                       core::ExchangeApi& exchanges, ClientLeft client_left, int in, int out)
    : loop_(loop),
      config_(config),
      server_(std::move(server)),
      exchanges_(exchanges),
      client_left_(std::move(client_left)),
      in_(in),
      out_(out),
      sessions_(loop, config, [this](const std::string& id) { exchanges_.session_ended(id); }),
      streams_(std::make_unique<net::StdStreams>(loop, static_cast<net::StreamCallbacks&>(*this))),
      writer_(loop, config, *streams_, [this] { client_left_soon(EndReason::client_too_slow); }),
      lines_(config.max_body_bytes) {}

StdioFront::~StdioFront() = default;

Status<> StdioFront::listen() {
  auto opened = streams_->open(in_, out_);
  if (!opened) return fail(opened.error().text);
  streams_->start_reading();
  return Done{};
}

void StdioFront::close_all() {
  client_left_ = nullptr;
  client_left(EndReason::cancelled_client);
}

// ---- input ----

void StdioFront::on_data(std::string_view bytes) {
  const std::string_view rest = lines_.feed(
      bytes, [this](std::string text) { take_line(std::move(text)); },
      [this](std::string_view beginning) { too_long(beginning); },
      streams_->reads_file() ? SIZE_MAX : kLinesPerTurn);
  if (!rest.empty() && !gone_) streams_->put_back(rest);
  if (writer_.far_behind()) streams_->pause_reading();
}

void StdioFront::on_drained() {
  writer_.drained();
  if (!gone_ && !input_ended_) streams_->start_reading();
}

// End of the input, a pipe or a file: requests already read are answered first.
void StdioFront::on_end(int error) {
  if (error != 0) return client_left_soon(EndReason::cancelled_client);
  take_line(lines_.take_partial());
  input_ended_ = true;
  for (const std::string& raw_id : questions_.end())
    answer_in_place(ClientQuestions::refusal(raw_id));
  end_when_done();
}

void StdioFront::line(std::string message, Kind kind) {
  auto unanswered = kind == Kind::unasked_for ? questions_.note(message) : std::nullopt;
  writer_.write(std::move(message), kind);
  // Deferred: the server's call is on the stack.
  if (unanswered)
    loop_.defer(lifetime_, [this, id = std::move(*unanswered)] {
      if (!gone_) answer_in_place(ClientQuestions::refusal(id));
    });
}

void StdioFront::take_line(std::string text) {
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());  // has no meaning
  if (gone_ || is_blank(text)) return;
  auto parsed = mcp::Message::parse(std::move(text), static_cast<int>(config_.max_depth));
  if (!parsed) return take_fault(parsed.error());
  if (!hold(*parsed)) take(std::move(*parsed));
}

void StdioFront::too_long(std::string_view beginning) {
  refuse_unread(beginning, mcp::kInvalidRequest,
                fmt::format("a message is longer than {} bytes (lineward listen.maxBodyBytes)",
                            config_.max_body_bytes));
}

// The message is not parsed to its end. Its id counts if no other id stands in the text.
void StdioFront::refuse_unread(std::string_view text, int code, const std::string& why) {
  mcp::RecoveredIds found = mcp::recover_ids(text);
  const bool certain = found.raw_ids.size() == 1 && is_id(found.raw_ids.front());
  const std::string id = certain ? found.raw_ids.front() : std::string();
  refuse(found.is_answer ? std::string() : id, code, why);
  if (found.is_answer) answer_in_place(mcp::in_place_of_answer(id, why));
}

void StdioFront::take_fault(const mcp::MessageFault& fault) {
  if (fault.too_deep) return refuse_unread(fault.bytes, mcp::kParseError, fault.text);
  Session* open = session();
  std::vector<std::string> elements;
  // Only 2025-03-26 has batches; each answer may be sent alone. The answer to a pending `initialize` decides
  // the revision.
  bool batch = fault.kind == mcp::MessageFault::Kind::batch;
  if (batch && holds() && has_room(fault.bytes.size())) return keep(fault.bytes);
  if (batch && open != nullptr && open->revision == mcp::kWithBatches)
    elements = mcp::batch_elements(fault.bytes);
  if (elements.empty() || elements.size() > mcp::kMaxInBatch) {
    int code = fault.kind == mcp::MessageFault::Kind::not_json ? mcp::kParseError : mcp::kInvalidRequest;
    refuse(fault.id_to_refuse(), code, elements.empty() ? fault.text : mcp::too_many_in_batch());
    return answer_in_place(mcp::in_place_of_answer(fault));
  }
  for (std::string& element : elements)
    take_line(std::move(element));
}

// A legacy client may write before its `initialize` is answered; these messages cannot be interpreted yet.
bool StdioFront::hold(mcp::Message& message) {
  if (!holds() || message.has(Field::meta_protocol_version)) return false;
  if (message.method() == "notifications/cancelled" && named_by(message) != nullptr) {
    notification(std::move(message));
    return true;
  }
  if (has_room(message.bytes().size())) {
    keep(message.bytes());
  } else if (message.kind() == mcp::MessageKind::request) {
    refuse_busy(message.raw(Field::id), EndReason::queue_full,
                "too many messages before initialize was answered");
  }
  return true;
}

bool StdioFront::has_room(size_t bytes) const {
  return held_.size() < kMaxHeld && held_bytes_ + bytes <= config_.max_body_bytes;
}

void StdioFront::keep(std::string_view text) {
  held_bytes_ += text.size();
  held_.emplace_back(text);
}

void StdioFront::release_held() {
  release_due_ = false;
  while (!held_.empty() && !holds() && !gone_) {
    std::string text = std::move(held_.front());
    held_.pop_front();
    held_bytes_ -= text.size();
    take_line(std::move(text));
  }
  end_when_done();
}

void StdioFront::take(mcp::Message message) {
  switch (message.kind()) {
    case mcp::MessageKind::request: return request(std::move(message));
    case mcp::MessageKind::notification: return notification(std::move(message));
    case mcp::MessageKind::result:
    case mcp::MessageKind::error:
      if (session() == nullptr) return dropped("answer_without_session");
      return answer(std::move(message));
  }
}

core::IncomingMessage StdioFront::arrival_of(const mcp::Message& message, Era era) {
  core::IncomingMessage arrival;
  arrival.from->method = mcp::method_of(message.method());
  arrival.from->era = era;
  arrival.from->upstream = server_;
  arrival.from->principal = kPrincipal;
  arrival.from->peer = "stdio";
  arrival.from->wire = mcp::Wire::stdio;
  arrival.from->http_status_visible = false;
  arrival.from->bytes_in = message.bytes().size() + 1;
  if (era == Era::legacy) arrival.from->session = session_id_;
  if (era == Era::modern) arrival.from->affinity = kPrincipal;  // one client, for the life of the process
  return arrival;
}

void StdioFront::request(mcp::Message message) {
  std::string raw_id(message.raw(Field::id));
  if (draining_) return refuse_busy(raw_id, EndReason::cancelled_drain, "the gateway is stopping");
  auto arrival = admit(message);
  if (!arrival) return;
  uint64_t serial = ++serial_;
  if (arrival->from->method == Method::initialize && arrival->from->era == Era::legacy) opening_ = serial;
  Running& running = running_[serial];
  running.canonical_id = mcp::canonical_id(raw_id);
  by_id_[running.canonical_id] = serial;
  const bool listens =
      arrival->from->method == Method::subscriptions_listen && arrival->from->era == Era::modern;
  running.listens = listens;
  listens_ += listens ? 1 : 0;
  arrival->message = std::move(message);
  auto reply = std::make_unique<StdioReply>(*this, serial, std::move(raw_id),
                                            listens ? StdioReply::Of::listen : StdioReply::Of::call);
  core::ExchangeId id = exchanges_.start(std::move(*arrival), std::move(reply));
  if (auto started = running_.find(serial); started != running_.end()) started->second.exchange = id;
}

// The context of the request; empty after a refusal.
std::optional<core::IncomingMessage> StdioFront::admit(mcp::Message& message) {
  std::string_view raw_id = message.raw(Field::id);
  if (message.has(Field::meta_protocol_version)) {
    auto known = exchanges_.versions(server_);
    auto supported = known ? *known : std::vector<std::string>{std::string(mcp::kNewestModern)};
    if (auto refusal = check_modern_body(message, supported)) {
      std::string body = refusal->body.empty() ? mcp::error_message(raw_id, refusal->code, refusal->text)
                                               : std::move(refusal->body);
      refuse_with(std::move(body), refusal->code, refusal->text);
      return std::nullopt;
    }
    core::IncomingMessage arrival = arrival_of(message, Era::modern);
    arrival.from->revision = message.text(Field::meta_protocol_version);
    return arrival;
  }
  Session* open = session();
  if (message.method() == "initialize") {
    if (open != nullptr) {
      refuse(raw_id, mcp::kInvalidRequest, "this session is initialized already");
    } else if (!message.is_object(Field::params) || !message.is_string(Field::params_protocol_version)) {
      refuse(raw_id, mcp::kInvalidParams, "initialize needs params.protocolVersion");
    } else {
      open = sessions_.create(std::string(kPrincipal), server_, nullptr);
      open->use_pipe([this](const std::string& text) { line(text, Kind::unasked_for); });
      session_id_ = open->id;
      return arrival_of(message, Era::legacy);
    }
    return std::nullopt;
  }
  if (open != nullptr) {
    core::IncomingMessage arrival = arrival_of(message, Era::legacy);
    arrival.from->revision = open->revision;
    return arrival;
  }
  if (message.method() == "ping") {  // legacy clients may send it before `initialize`
    line(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", raw_id), Kind::awaited);
  } else {
    refuse(raw_id, mcp::kInvalidRequest,
           "this request names no protocol version in params._meta, and there was no initialize; start with "
           "initialize or server/discover");
  }
  return std::nullopt;
}

void StdioFront::answer(mcp::Message message) {
  if (message.has(Field::id)) questions_.answered(message.raw(Field::id));
  core::IncomingMessage arrival = arrival_of(message, Era::legacy);
  arrival.message = std::move(message);
  if (exchanges_.judge(arrival)) return;
  exchanges_.answered(session_id_, std::move(arrival.message), core::AnswerCame::here);
}

// A client cannot answer before its session is open, and policies do not judge Lineward's own messages.
void StdioFront::answer_in_place(std::optional<mcp::Message> answer) {
  if (answer && session() != nullptr)
    exchanges_.answered(session_id_, std::move(*answer), core::AnswerCame::here);
}

void StdioFront::notification(mcp::Message message) {
  bool modern = message.has(Field::meta_protocol_version);
  core::IncomingMessage arrival = arrival_of(message, modern ? Era::modern : Era::legacy);
  arrival.message = std::move(message);
  if (exchanges_.judge(arrival)) return;
  if (arrival.from->method == Method::cancelled) {
    const Running* call = named_by(arrival.message);
    if (call == nullptr) return dropped("cancel_of_nothing");
    return exchanges_.cancel(call->exchange, arrival.message.text(Field::params_reason));
  }
  if (!modern && session() == nullptr) return dropped("notification_without_session");
  exchanges_.notified(std::move(arrival));
}

// On a shared pipe an id names one request in either era; a cancel need not name the era (2026-07-28
// cancellation).
const StdioFront::Running* StdioFront::named_by(const mcp::Message& cancel) const {
  if (!cancel.has(Field::params_request_id)) return nullptr;
  auto found = by_id_.find(mcp::canonical_id(cancel.raw(Field::params_request_id)));
  auto running = found == by_id_.end() ? running_.end() : running_.find(found->second);
  return running == running_.end() ? nullptr : &running->second;
}

void StdioFront::refuse(std::string_view raw_id, int code, std::string_view text) {
  refuse_with(mcp::error_message(raw_id, code, text), code, text);
}

void StdioFront::refuse_with(std::string error, int code, std::string_view text) {
  metrics::stats().count_refused(EndReason::invalid_request);
  log::write(log::Level::info, "request.refused",
             {{"reason", mcp::name(EndReason::invalid_request)},
              {"code", code},
              {"why", std::string(text)},
              {"remote", "stdio"}});
  audit::record(audit::Kind::refusal, {{"from", "stdio"},
                                       {"server", server_},
                                       {"end", mcp::name(EndReason::invalid_request)},
                                       {"code", code},
                                       {"why", text}});
  if (gate_) {
    gate_->on_refused({
        .peer = "stdio",
        .server = server_,
        .reason = EndReason::invalid_request,
        .why = text,
        .on_stdio = true,
    });
  }
  line(std::move(error), Kind::awaited);
}

void StdioFront::refuse_busy(std::string_view raw_id, EndReason reason, std::string_view text) {
  mcp::GatewayError error;
  error.reason = reason;
  error.text = std::string(text);
  error.upstream = server_;
  metrics::stats().count_refused(reason);
  audit::record(audit::Kind::refusal,
                {{"from", "stdio"}, {"server", server_}, {"end", mcp::name(reason)}, {"why", text}});
  line(mcp::gateway_error(raw_id, error), Kind::awaited);
}

void StdioFront::dropped(std::string_view kind) {
  log::write(log::Level::debug, "client.dropped", {{"kind", std::string(kind)}, {"remote", "stdio"}});
}

// ---- end ----

void StdioFront::reply_over(uint64_t serial) {
  auto found = running_.find(serial);
  if (found == running_.end()) return;
  writer_.forget(serial);
  auto named = by_id_.find(found->second.canonical_id);
  if (named != by_id_.end() && named->second == serial) by_id_.erase(named);
  listens_ -= found->second.listens ? 1 : 0;
  running_.erase(found);
  if (opening_ == serial) {
    opening_ = 0;
    release_due_ = true;  // lines read before that must not overtake the held ones
    // A session that failed to open ends at the end of this turn, before this callback.
    loop_.defer(lifetime_, [this] { release_held(); });
  }
  end_when_done();
}

void StdioFront::drain() {
  draining_ = true;
  if (input_ended_) client_left_soon(EndReason::cancelled_client);
}

// The whole input was read, and its requests are answered.
void StdioFront::end_when_done() {
  const auto is_done = [this] {
    return input_ended_ && !holds() && held_.empty() && running_.size() == listens_;
  };
  if (!is_done()) return;
  loop_.defer(lifetime_, [this, is_done] {
    if (is_done()) client_left(EndReason::cancelled_client);
  });
}

// Deferred: an exchange may be on the stack.
void StdioFront::client_left_soon(EndReason why) {
  loop_.defer(lifetime_, [this, why] { client_left(why); });
}

void StdioFront::client_left(EndReason why) {
  if (gone_) return;
  gone_ = true;
  streams_->pause_reading();
  writer_.stop();
  held_.clear();
  log::write(
      why == EndReason::client_too_slow ? log::Level::error : log::Level::info, "client.gone",
      {{"reason", mcp::name(why)}, {"remote", "stdio"}, {"calls", static_cast<uint64_t>(running_.size())}});
  std::vector<core::ExchangeId> calls;
  for (const auto& [serial, running] : running_)
    calls.push_back(running.exchange);
  for (core::ExchangeId id : calls)
    exchanges_.client_left(id, why);
  if (session() != nullptr) exchanges_.session_ended(session_id_);
  if (client_left_) client_left_(why);
}

}  // namespace lineward::client
