#include "proxy/upstream/http/answered_streams.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "proxy/upstream/http/http_session.h"
#include "proxy/upstream/http/session_group.h"
#include "proxy/upstream/http/session_groups.h"
#include "proxy/upstream/http_client/http_pool.h"
#include "proxy/upstream/shared/legacy_facade.h"

namespace lineward::upstream {

class AnsweredStreams::Stream final : public MessagesCallbacks {
 public:
  Stream(AnsweredStreams& all, std::unique_ptr<HttpMessages> messages, const SessionGroup& its_group)
      : group(its_group.key),
        session(its_group.session_number()),
        all_(all),
        messages_(std::move(messages)),
        limit_(all.parts_.loop) {
    messages_->set_owner(*this);
    messages_->resume();
    limit_.start(kTime, [this] { end(); });
  }

  void end() {
    limit_.stop();
    if (messages_) messages_->close();
    all_.parts_.loop.retire(std::move(messages_));
    all_.over(*this);
  }

  const std::string group;
  const uint64_t session;

 private:
  void on_message(HttpMessages&, mcp::Message&& message) override {
    if (has_room_for(message.bytes().size())) all_.heard(*this, std::move(message));
  }
  void on_malformed_request(HttpMessages&, const mcp::MessageFault& fault) override {
    has_room_for(fault.bytes.size());
  }
  void on_no_message(HttpMessages&, const mcp::MessageFault& fault) override {
    has_room_for(fault.bytes.size());
  }
  void on_other_event(HttpMessages&, const http::SseEvent& event) override {
    has_room_for(event.data.size());
  }
  void on_messages_end(HttpMessages&, const MessagesEnd&) override { end(); }

  bool has_room_for(size_t bytes) {
    bytes_ += bytes;
    if (++count_ <= kMessages && bytes_ <= kBytes) return true;
    all_.parts_.pool.log_dropped("after_answer");
    end();
    return false;
  }

  AnsweredStreams& all_;
  std::unique_ptr<HttpMessages> messages_;
  size_t bytes_ = 0;
  size_t count_ = 0;
  net::Timer limit_;
};

AnsweredStreams::AnsweredStreams(const HttpParts& parts) : parts_(parts) {}

AnsweredStreams::~AnsweredStreams() {
  stop();
}

void AnsweredStreams::take(std::unique_ptr<HttpMessages> messages, const SessionGroup& group) {
  if (streams_.size() >= kStreams) {
    messages->finish_quietly();
    return parts_.loop.retire(std::move(messages));
  }
  streams_.push_back(std::make_unique<Stream>(*this, std::move(messages), group));
}

// As if it had come on the GET stream. A question that its call can no longer carry must not be taken for
// another caller's.
void AnsweredStreams::heard(const Stream& stream, mcp::Message&& message) {
  SessionGroup* group = parts_.groups.find(stream.group);
  if (group == nullptr || !group->is_ready() || group->session_number() != stream.session)
    return parts_.pool.log_dropped("after_answer");
  HttpSession& session = *group->session();
  const bool asks = message.kind() == mcp::MessageKind::request && message.method() != "ping";
  if (asks && group->scope() == nullptr) return session.post(LegacyFacade::nobody_to_ask(message, "session"));
  session.hear(std::move(message), nullptr);
}

void AnsweredStreams::over(Stream& stream) {
  auto found =
      std::find_if(streams_.begin(), streams_.end(), [&](const auto& one) { return one.get() == &stream; });
  if (found == streams_.end()) return;
  parts_.loop.retire(std::move(*found));  // it may be on the stack
  streams_.erase(found);
}

void AnsweredStreams::stop() {
  while (!streams_.empty())
    streams_.back()->end();
}

}  // namespace lineward::upstream
