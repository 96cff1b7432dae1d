#include "operate/admin/plain_http.h"

#include "protocol/http/percent.h"

namespace lineward::admin {
namespace {

using Next = http::RequestParser::Next;
using std::chrono::milliseconds;

constexpr size_t kMaxConnections = 64;
// Beyond this limit the oldest connection without a request is closed, so that a probe always gets a
// connection. It first gets time to send a line, unless far too many connect at once.
constexpr milliseconds kTimeToAsk{250};
constexpr size_t kMaxAtOnce = 256;
constexpr milliseconds kRequestLimit{5000};
constexpr milliseconds kWritePatience{5000};

http::RequestLimits limits() {
  http::RequestLimits limits;
  limits.head_bytes = 16 * 1024;
  limits.body_bytes = 64 * 1024;
  return limits;
}

}  // namespace

PlainResponse plain_text(int status, std::string body) {
  PlainResponse out;
  out.status = status;
  out.body = std::move(body);
  return out;
}

PlainResponse not_allowed(std::string allow, PlainResponse answer) {
  answer.status = 405;
  answer.headers.push_back({"Allow", std::move(allow)});
  return answer;
}

std::optional<std::string> PlainRequest::parameter(std::string_view name) const {
  return http::form_value(query, name);
}

OpsHttpServer::Connection::Connection(OpsHttpServer& server, uint64_t id,
                                      std::unique_ptr<net::ByteStream> stream, std::string peer)
    : server_(server),
      id_(id),
      peer_(std::move(peer)),
      stream_(std::move(stream)),
      parser_(limits()),
      timer_(server.loop_),
      since_(server.loop_.now()) {
  stream_->set_owner(this);
  stream_->start_reading();
  timer_.start(kRequestLimit,
               [this] { respond(plain_text(408, "the request was not complete within 5s\n")); });
}

OpsHttpServer::Connection::~Connection() {
  writer_.reset();
  if (stream_) stream_->close();
}

void OpsHttpServer::Connection::respond(const PlainResponse& response) {
  http::ResponseHead head;
  head.status = response.status;
  head.keep_alive = false;
  head.headers = response.headers;
  head.headers.push_back({"Content-Type", response.content_type});
  head.headers.push_back({"Cache-Control", "no-store"});
  head.headers.push_back({"X-Content-Type-Options", "nosniff"});
  if (response.stream) {
    head.minor_version = 0;  // not chunked: the end of the connection ends it
    stream_->write(http::streaming_head(head));
    writer_ = response.stream;
    return writer_->begin(*this);
  }
  stream_->set_owner(nullptr);
  std::string bytes = http::full_response(head, response.body);
  // The length is announced without a body (RFC 9110, section 9.3.2).
  if (busy_ && parser_.head().method == "HEAD") bytes.resize(bytes.size() - response.body.size());
  stream_->write(std::move(bytes));
  net::ByteStream::close_after_writes(std::move(stream_), kWritePatience);
  server_.drop(id_);
}

void OpsHttpServer::Connection::on_data(std::string_view bytes) {
  if (busy_) return;  // one request per connection
  parser_.append(bytes);
  for (;;) {
    switch (parser_.next()) {
      case Next::need_more: return;
      case Next::head: continue;
      case Next::failed:
        return respond({parser_.fault().code, "text/plain; charset=utf-8", parser_.fault().text + "\n", {}});
      case Next::complete: return handle();
    }
  }
}

void OpsHttpServer::Connection::on_end(int) {
  server_.drop(id_);
}

void OpsHttpServer::Connection::on_drained() {
  if (writer_) writer_->drained();
}

void OpsHttpServer::Connection::end() {
  if (!stream_) return;
  stream_->set_owner(nullptr);
  net::ByteStream::close_after_writes(std::move(stream_), kWritePatience);
  server_.drop(id_);
}

void OpsHttpServer::Connection::handle() {
  busy_ = true;
  timer_.stop();
  const http::RequestHead& head = parser_.head();
  PlainRequest request{head, std::string(head.path), {}, parser_.take_body(), peer_, stream_->peer_uid()};
  if (head.target.size() > head.path.size()) request.query = head.target.substr(head.path.size() + 1);
  server_.handler_(request,
                   server_.lifetime_.guard([server = &server_, id = id_](const PlainResponse& response) {
                     server->answer(id, response);
                   }));
}

OpsHttpServer::OpsHttpServer(net::Loop& loop, Handler handler) : loop_(loop), handler_(std::move(handler)) {}

OpsHttpServer::~OpsHttpServer() = default;

Status<> OpsHttpServer::listen(const std::string& address) {
  auto listener = net::Listener::open(
      loop_, address, [this](auto stream, std::string peer) { accept(std::move(stream), std::move(peer)); });
  if (!listener) return Unexpected<Error>{listener.error()};
  listener_ = std::move(*listener);
  return Done{};
}

void OpsHttpServer::accept(std::unique_ptr<net::ByteStream> stream, std::string peer) {
  if (connections_.size() >= kMaxConnections && !make_room()) return;  // closed at once
  uint64_t id = next_++;
  connections_.emplace(id, std::make_unique<Connection>(*this, id, std::move(stream), std::move(peer)));
}

// False: all connections are being answered, or are new.
bool OpsHttpServer::make_room() {
  const bool too_many = connections_.size() >= kMaxAtOnce;
  const milliseconds moment = too_many ? loop_.now() : loop_.now() - kTimeToAsk;
  for (auto& [id, connection] : connections_) {
    if (!connection->is_idle_since(moment)) continue;
    drop(id);
    return true;
  }
  return !too_many;
}

void OpsHttpServer::answer(uint64_t id, const PlainResponse& response) {
  auto found = connections_.find(id);
  if (found != connections_.end()) found->second->respond(response);
}

// A callback of it may be on the stack.
void OpsHttpServer::drop(uint64_t id) {
  auto found = connections_.find(id);
  if (found == connections_.end()) return;
  loop_.retire(std::move(found->second));
  connections_.erase(found);
}

}  // namespace lineward::admin
