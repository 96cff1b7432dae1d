#include "proxy/client/endpoint/batch_endpoint.h"

#include <memory>
#include <utility>

#include "protocol/mcp/errors.h"
#include "protocol/mcp/revision.h"
#include "protocol/mcp/rewrite.h"
#include "proxy/client/endpoint/batch_reply.h"
#include "proxy/client/http/admission.h"

namespace lineward::client {
namespace {

using mcp::Field;

constexpr size_t kMaxInBatch = 100;

// The context of one message of a batch.
core::IncomingMessage one_of(const core::IncomingMessage& pattern, mcp::Message&& message) {
  core::IncomingMessage arrival = pattern;
  arrival.from = std::make_shared<core::ClientRequest>(*pattern.from);
  arrival.from->method = mcp::method_of(message.method());
  arrival.from->bytes_in = message.bytes().size();
  arrival.message = std::move(message);
  return arrival;
}

}  // namespace

BatchEndpoint::BatchEndpoint(const EndpointParts& parts, PeerRouter& peers) : parts_(parts), peers_(peers) {}

void BatchEndpoint::post(ClientConnection& connection, const std::string& server, const std::string& body) {
  auto refuse = [&](std::string text) {
    parts_.refusals.refuse(connection, invalid_request(std::move(text)));
  };
  Session* session = parts_.sessions.find_opened_here(connection);
  if (session == nullptr) return parts_.refusals.refuse(connection, parts_.sessions.why_none());
  if (session->revision != mcp::kWithBatches)
    return refuse("batches are served in sessions of 2025-03-26 only");
  if (auto refusal = check_legacy_version(connection.head().headers, session->revision))
    return parts_.refusals.refuse(connection, *refusal);
  std::vector<std::string> elements = mcp::batch_elements(body, kMaxInBatch);
  if (elements.empty()) return refuse("a batch is an array of one message or more");
  if (elements.size() > kMaxInBatch) return refuse(mcp::too_many_in_batch(kMaxInBatch));

  std::vector<mcp::Message> requests;
  std::vector<mcp::Message> rest;
  std::vector<std::string> errors;
  for (std::string& element : elements) {
    auto parsed = mcp::Message::parse(std::move(element), static_cast<int>(parts_.config.max_depth));
    if (!parsed) {
      const mcp::MessageFault& fault = parsed.error();
      errors.push_back(mcp::error_message(fault.id_to_refuse(), mcp::kInvalidRequest, fault.text));
      if (auto answer = mcp::in_place_of_answer(fault)) rest.push_back(std::move(*answer));
    } else if (parsed->kind() != mcp::MessageKind::request) {
      rest.push_back(std::move(*parsed));
    } else if (mcp::method_of(parsed->method()) == mcp::Method::initialize) {
      errors.push_back(mcp::error_message(parsed->raw(Field::id), mcp::kInvalidRequest,
                                          "initialize is never part of a batch"));
    } else {
      requests.push_back(std::move(*parsed));
    }
  }
  if (session->upstream != server && !requests.empty())
    return parts_.refusals.refuse(connection, session_not_found());
  // The server judges a request by the credentials that it carries. Other messages are sent in the name of
  // the session's owner, in a batch as alone.
  if (!rest.empty() && parts_.sessions.find_as_owner(connection) == nullptr) {
    if (requests.empty() && errors.empty()) return parts_.refusals.refuse(connection, session_not_found());
    for (size_t i = 0; i < rest.size(); ++i)
      parts_.refusals.note(connection, 200, mcp::EndReason::invalid_request,
                           "a part of a batch came without the credentials of its session");
    rest.clear();
  }
  parts_.sessions.table().touch(*session);

  core::IncomingMessage pattern = parts_.starter.arrival(connection, session->upstream, Mirrored::no);
  pattern.from->era = mcp::Era::legacy;
  place_in(*session, pattern);

  const bool is_word = session->shared() != nullptr && connection.facts().passed_by_peer;
  const PeerRouter::Word word =
      session->shared() != nullptr && !rest.empty() ? peers_.word(connection) : std::nullopt;
  for (size_t i = 0; i < errors.size(); ++i)
    parts_.refusals.note(connection, 200, mcp::EndReason::invalid_request,
                         "an element of a batch is no message");
  if (requests.empty() && errors.empty()) {
    connection.respond(202, {}, {});
  } else {
    start(connection, *session, pattern, std::move(requests), errors);
  }
  std::string told;
  for (mcp::Message& message : rest) {
    const std::string one =
        hand_in(pattern, std::move(message), is_word ? core::AnswerCame::elsewhere : core::AnswerCame::here);
    if (!one.empty()) told += (told.empty() ? "[" : ",") + one;
  }
  if (!told.empty()) peers_.tell_others(word, told + "]");
}

// Hands in a notification or an answer. Returns the notification for the other replicas.
std::string BatchEndpoint::hand_in(const core::IncomingMessage& pattern, mcp::Message&& message,
                                   core::AnswerCame came) {
  core::IncomingMessage arrival = one_of(pattern, std::move(message));
  const bool is_answer = arrival.message.kind() != mcp::MessageKind::notification;
  const bool is_cancel = arrival.from->method == mcp::Method::cancelled;
  // The other replica has judged what it tells.
  const bool is_judged = came == core::AnswerCame::here || !(is_answer || is_cancel);
  if (is_judged && parts_.exchanges.judge(arrival)) return {};  // it has no answer to carry the refusal
  std::string told;
  if (is_answer) told = PeerRouter::of_answer(arrival.message.raw(Field::id));
  if (is_cancel) told = PeerRouter::of_cancel(arrival.message);
  if (!is_answer) {
    parts_.exchanges.notified(std::move(arrival));
    return told;
  }
  const bool elsewhere = parts_.exchanges.answered(pattern.from->session, std::move(arrival.message), came);
  return elsewhere ? told : std::string();
}

// All replies are created before the first exchange begins, so that none of them looks like the last.
void BatchEndpoint::start(ClientConnection& connection, Session& session,
                          const core::IncomingMessage& pattern, std::vector<mcp::Message> requests,
                          const std::vector<std::string>& errors) {
  auto ids = std::make_shared<std::vector<core::ExchangeId>>();
  SessionStream& stream = session.open_post_stream([&exchanges = parts_.exchanges, ids](mcp::EndReason why) {
    for (core::ExchangeId id : *ids)
      exchanges.client_left(id, why);
  });
  stream.attach(
      parts_.starter.transport(connection, session, stream, {}, ExchangeStarter::Primes::yes, true));
  auto batch = std::make_shared<Batch>(parts_.sessions.table(), session.id, stream.number());
  batch->held.charge(session.account());
  batch->as_array = !accepts(connection.head().headers).events;
  std::vector<std::unique_ptr<BatchReply>> replies;
  for (size_t i = 0; i < requests.size() + errors.size(); ++i)
    replies.push_back(std::make_unique<BatchReply>(batch));
  for (const std::string& error : errors) {
    replies.back()->finish(error, 200);
    replies.pop_back();
  }
  for (size_t i = 0; i < requests.size(); ++i)
    ids->push_back(parts_.exchanges.start(one_of(pattern, std::move(requests[i])), std::move(replies[i])));
}

}  // namespace lineward::client
