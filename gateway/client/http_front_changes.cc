// What changes while the front runs: the paths and the address at a reload, and the end. A part of
// client/http_front.h.
#include "client/http_front.h"
#include "mcp/errors.h"

namespace lineward::client {
namespace {

using mcp::Field;

// While draining, an idle connection may bring one more request for this long: its client may have sent it
// before it could know.
constexpr std::chrono::milliseconds kLastChance{1000};

}  // namespace

Status<net::ListenFailure> HttpFront::open_next(const std::string& address) {
  auto listener = net::Listener::open(loop_, address, accepting());
  if (!listener) return Unexpected<net::ListenFailure>{listener.error()};
  next_listener_ = std::move(*listener);
  return Done{};
}

Status<net::ListenFailure> HttpFront::join_next(int socket, std::string address, bool loopback) {
  auto listener = net::Listener::join(loop_, socket, std::move(address), loopback, accepting());
  if (!listener) return Unexpected<net::ListenFailure>{listener.error()};
  next_listener_ = std::move(*listener);
  return Done{};
}

void HttpFront::move() {
  if (!next_listener_) return;
  if (listener_) listener_->take_waiting();
  listener_ = std::move(next_listener_);
  listener_->when_out_of_descriptors([this] { turned_away(core::Overload::descriptors); });
}

void HttpFront::drain() {
  draining_ = true;
  std::vector<PeerPass*> passes;
  for (auto& pass : passes_)
    passes.push_back(pass.get());
  for (PeerPass* pass : passes)
    pass->drain();  // which may end it
  std::vector<PlainPass*> plain;
  for (auto& pass : plain_passes_)
    plain.push_back(pass.get());
  for (PlainPass* pass : plain)
    pass->drain();
  if (listener_) {
    listener_->take_waiting();
    listener_->close();
  }
  last_chance_.start(kLastChance, [this] {
    std::vector<ClientConnection*> all;
    for (auto& entry : connections_)
      all.push_back(entry.second.get());
    for (auto* connection : all)
      connection->close_when_idle();
  });
}

size_t HttpFront::unanswered() const {
  size_t count = passes_.size() + awaiting_session_.size();
  for (const auto& entry : connections_)
    count += entry.second->may_ask() ? 1 : 0;
  return count;
}

void HttpFront::nothing_here(ClientConnection& connection, std::string_view raw_id) {
  refuse(connection, {404, 404, "nothing is served at this path; " + paths_.hint, {}, {}}, raw_id);
}

// A server that was taken away, whose sessions last until their calls have ended: the answers to what it asks
// meanwhile, and cancels, must reach it.
bool HttpFront::leaving_request(ClientConnection& connection, std::string& body) {
  const http::RequestHead& head = connection.head();
  auto route = paths_.leaving.find(std::string(head.path));
  if (route == paths_.leaving.end() || head.headers.count("Mcp-Session-Id") == 0) return false;
  if (head.method == "GET") return get(connection), true;
  if (head.method == "DELETE") return remove_session(connection), true;
  if (head.method != "POST" || check_post_headers(head.headers)) return false;
  auto parsed = mcp::Message::parse(std::move(body), static_cast<int>(config_.max_depth));
  if (!parsed) return false;
  switch (parsed->kind()) {
    case mcp::MessageKind::request: nothing_here(connection, parsed->raw(Field::id)); break;
    case mcp::MessageKind::notification:
      post_notification(connection, route->second, std::move(*parsed));
      break;
    case mcp::MessageKind::result:
    case mcp::MessageKind::error: post_answer(connection, std::move(*parsed)); break;
  }
  return true;
}

}  // namespace lineward::client
