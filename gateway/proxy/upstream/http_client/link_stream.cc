#include "proxy/upstream/http_client/link_stream.h"

#include <cerrno>
#include <utility>

#include "proxy/upstream/http_client/http2_link.h"

namespace lineward::upstream {

LinkStream::LinkStream(net::Loop& loop, Http2Link& link)
    : loop_(loop),
      link_(&link),
      deliver_later_(
          loop, [](void* self) { static_cast<LinkStream*>(self)->deliver(); }, this) {}

LinkStream::~LinkStream() {
  close();
}

// ---- from the server ----

// A head is no part of the window; counting it there would open the window too far.
void LinkStream::give(std::string_view bytes) {
  if (owner_ == nullptr) return;
  const bool is_body = entry_ != nullptr && entry_->has_head;
  if (!reading_ || rests_ || !kept_.empty()) {
    kept_ += bytes;
    kept_held_.set(kept_.size());
    if (is_body) untaken_ += bytes.size();
    return;
  }
  const net::Lifetime::Watch here = lifetime_.watch();
  owner_->on_data(bytes);
  if (!here.gone() && is_body) credit(bytes.size());
}

void LinkStream::credit(size_t bytes) {
  if (link_ != nullptr && entry_ != nullptr) link_->credit(*entry_, bytes);
}

void LinkStream::deliver() {
  rests_ = false;
  if (!reading_ || owner_ == nullptr) return;
  if (!kept_.empty()) {
    const std::string bytes = std::exchange(kept_, {});
    const size_t taken = std::exchange(untaken_, 0);
    kept_held_.set(0);
    const net::Lifetime::Watch here = lifetime_.watch();
    owner_->on_data(bytes);
    if (here.gone()) return;
    credit(taken);
  }
  if (finished_ && owner_ != nullptr && reading_ && !rests_) std::exchange(owner_, nullptr)->on_end(0);
}

void LinkStream::start_reading() {
  if (std::exchange(reading_, true)) return;
  if (!kept_.empty() || finished_) deliver_later_.schedule();
}

void LinkStream::put_back(std::string_view rest) {
  kept_.insert(0, rest);
  kept_held_.set(kept_.size());
  rests_ = true;
  deliver_later_.schedule();
}

void LinkStream::finish() {
  if (std::exchange(finished_, true)) return;
  if (kept_.empty() && reading_ && !rests_ && owner_ != nullptr) std::exchange(owner_, nullptr)->on_end(0);
}

void LinkStream::lose_later(LinkLoss why) {
  loop_.defer(lifetime_, [this, why = std::move(why)] { lose(why); });
}

void LinkStream::lose(LinkLoss why) {
  disconnect();
  if (finished_) return;  // its reader is slow; the answer is whole
  loss_ = std::move(why);
  if (net::StreamCallbacks* owner = std::exchange(owner_, nullptr)) owner->on_end(-ECONNRESET);
}

// ---- to the server ----

void LinkStream::write(std::string bytes) {
  if (link_ != nullptr && entry_ == nullptr && !finished_) link_->request(*this, std::move(bytes));
}

void LinkStream::drained() {
  if (owner_ != nullptr) owner_->on_drained();
}

void LinkStream::charge(const AccountPtr& account) {
  kept_held_.charge(account);
  if (entry_ != nullptr) entry_->body.charge(account);
}

size_t LinkStream::backlog() const {
  return entry_ != nullptr ? entry_->body.size() : 0;
}

void LinkStream::close() {
  owner_ = nullptr;
  deliver_later_.cancel();
  kept_.clear();
  kept_held_.set(0);
  if (Http2Link* link = std::exchange(link_, nullptr)) link->close(*this);
  entry_ = nullptr;
}

}  // namespace lineward::upstream
