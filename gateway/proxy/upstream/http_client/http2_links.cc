#include "proxy/upstream/http_client/http2_links.h"

#include <algorithm>
#include <utility>

#include "proxy/upstream/http_client/http_connection.h"
#include "proxy/upstream/http_client/http_pool.h"

namespace lineward::upstream {
namespace {

using config::ServerHttp2;

constexpr std::string_view kEither("\x02h2\x08http/1.1", 12);
constexpr std::string_view kHttp2("\x02h2", 3);
constexpr std::string_view kHttp1("\x08http/1.1", 9);

}  // namespace

Http2Links::Http2Links(HttpPool& pool, ServerHttp2 mode)
    : pool_(pool),
      mode_(mode),
      known_(mode == ServerHttp2::always ? Known::http2 : Known::nothing),
      assign_later_(
          pool.loop(), [](void* self) { static_cast<Http2Links*>(self)->assign(); }, this) {}

Http2Links::~Http2Links() {
  for (auto& link : std::exchange(links_, {})) {
    Http2Link& one = *link;
    pool_.note_link(-1);
    pool_.loop().retire(std::move(link));
    one.cut();
  }
}

std::string_view Http2Links::alpn() const {
  if (mode_ == ServerHttp2::always) return kHttp2;
  return refuses_ ? kHttp1 : kEither;
}

// The oldest first: others become idle, and are closed.
Http2Link* Http2Links::find_room() const {
  for (const auto& link : links_) {
    if (link->room() > 0) return link.get();
  }
  return nullptr;
}

// Streams that are still to come: of connections that are being opened, or await the number of their streams.
size_t Http2Links::expected() const {
  size_t sum = openers_.size() * (most_streams_ - 1);  // one is its own
  for (const auto& link : links_) {
    if (link->is_new()) sum += most_streams_ - 1;
  }
  return sum;
}

std::unique_ptr<LinkStream> Http2Links::take() {
  if (!waiting_.empty()) return nullptr;
  Http2Link* link = find_room();
  return link != nullptr ? stream_of(*link) : nullptr;
}

std::unique_ptr<LinkStream> Http2Links::stream_of(Http2Link& link) {
  pool_.note_request();
  return link.open();
}

bool Http2Links::park(HttpConnection& connection) {
  if (known_ != Known::http2) return false;
  if (waiting_.size() < expected() || !may_connect()) {
    waiting_.push_back(&connection);
    return true;
  }
  openers_.insert(&connection);
  return false;
}

// Within limits.maxConnections; the first one in any case.
bool Http2Links::may_connect() const {
  return !pool_.is_at_limit() || (openers_.empty() && links_.empty());
}

bool Http2Links::has_room() const {
  size_t sum = expected();
  for (const auto& link : links_)
    sum += link->room();
  return sum > waiting_.size();
}

size_t Http2Links::idle() const {
  return static_cast<size_t>(
      std::count_if(links_.begin(), links_.end(), [](const auto& link) { return link->is_idle(); }));
}

void Http2Links::close_idle() {
  for (const auto& link : links_) {
    if (link->is_idle()) link->end_when_idle();
  }
}

void Http2Links::keep(const net::Addresses& addresses) {
  for (const auto& link : links_) {
    const bool is_there = std::any_of(addresses.begin(), addresses.end(), [&](const net::Address& address) {
      return address.text == link->address();
    });
    if (!is_there) link->end_when_idle();
  }
}

// ---- connections ----

void Http2Links::speaks_http2(HttpConnection& connection, Http2Link::Parts parts, std::string_view first) {
  openers_.erase(&connection);
  known_ = Known::http2;
  parts.quiet = pool_.quiet();
  links_.push_back(std::make_unique<Http2Link>(pool_.loop(), *this, std::move(parts), pool_.limits()));
  Http2Link& link = *links_.back();
  pool_.note_link(1);
  link.begin();
  connection.join(stream_of(link));
  if (!first.empty()) link.receive(first);
  assign_later_.schedule();
}

void Http2Links::speaks_http1(HttpConnection& connection) {
  openers_.erase(&connection);
  if (known_ == Known::http2) assign_later_.schedule();
  known_ = Known::http1;
}

void Http2Links::failed(HttpConnection& connection, const core::Failure& fault) {
  if (openers_.erase(&connection) > 0) {
    last_fault_ = std::make_unique<core::Failure>(fault);
    assign_later_.schedule();
  }
  forget(connection);
}

void Http2Links::forget(HttpConnection& connection) {
  if (openers_.erase(&connection) > 0 || std::erase(waiting_, &connection) > 0) assign_later_.schedule();
}

// ---- links ----

bool Http2Links::on_link_idle() {
  return link_idle_timeout().count() > 0 && pool_.idle() <= pool_.most_idle();
}

void Http2Links::on_link_http1() {
  if (mode_ == ServerHttp2::always) return;
  refuses_ = true;
  known_ = Known::http1;
  for (const auto& link : links_)
    link->end_when_idle();
}

std::chrono::milliseconds Http2Links::link_idle_timeout() const {
  return pool_.idle_timeout();
}

void Http2Links::on_link_over(Http2Link& link) {
  const auto found =
      std::find_if(links_.begin(), links_.end(), [&](const auto& one) { return one.get() == &link; });
  if (found == links_.end()) return;
  pool_.note_link(-1);
  pool_.loop().retire(std::move(*found));
  links_.erase(found);
  assign_later_.schedule();
}

// Connections that wait get streams, or connect themselves. Each of them may close others.
void Http2Links::assign() {
  for (const auto& link : links_) {
    if (!link->is_new() && link->most_streams() > 0) most_streams_ = link->most_streams();
  }
  while (!waiting_.empty()) {
    Http2Link* link = find_room();
    if (link == nullptr) break;
    HttpConnection* first = waiting_.front();
    waiting_.pop_front();
    first->join(stream_of(*link));
  }
  // The server could not be reached: what has waited for that connection shares its fate.
  if (const auto fault = std::move(last_fault_)) {
    while (waiting_.size() > expected()) {
      HttpConnection* last = waiting_.back();
      waiting_.pop_back();
      last->fail_waiting(*fault);
    }
  }
  while (!waiting_.empty()) {
    const bool alone = known_ != Known::http2;
    if (!alone && (waiting_.size() <= expected() || !may_connect())) break;
    HttpConnection* first = waiting_.front();
    waiting_.pop_front();
    if (!alone) openers_.insert(first);
    pool_.start(*first);
  }
  if (has_room()) pool_.on_room();
}

}  // namespace lineward::upstream
