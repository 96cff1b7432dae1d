// Both neighbours of an exchange, played by a script: what they were told is checked against what the
// interfaces in core/ promise.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/json/json_member.h"
#include "protocol/mcp/errors.h"
#include "proxy/core/exchange_api.h"
#include "proxy/core/upstream.h"

namespace lineward::fuzz {

class FakeCall;

// The ends that the script controls. The server knows every call as 17; "m" says which call a message belongs
// to.
namespace words {

inline constexpr std::string_view kIds[] = {
    "1", "\"1\"", "1.0", "2", "-0", "123456789012345678901234567890", R"("\u0061")", "\"a\""};
inline constexpr std::string_view kTokens[] = {"", "7", "\"7\"", "1.0"};
inline constexpr std::string_view kMethods[] = {"tools/call",           "tools/list",      "prompts/get",
                                                "subscriptions/listen", "server/discover", "x/unknown"};
inline constexpr int64_t kLimits[] = {0, 1, 3, 50, 1000, 60000, 600000};

inline std::string log_text(int number) {
  return fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/message","params":{{"m":"{}"}}}})", number);
}
inline std::string progress_text(int number) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":17,"m":"{}"}}}})",
      number);
}
inline std::string listen_text(std::string_view method, int number, std::string_view id) {
  return fmt::format(R"({{"jsonrpc":"2.0","method":"{}","params":{{"m":"{}","notifications":{{)"
                     R"("toolsListChanged":true,"resourceSubscriptions":["a\"",1]}},)"
                     R"("_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}}})",
                     method, number, id);
}

}  // namespace words

// The fuzzer's bytes, one decision each; zeros when they are used up.
class Script {
 public:
  Script(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  bool more() const { return at_ != end_; }
  uint8_t byte() { return at_ != end_ ? *at_++ : 0; }
  template <class T, size_t N>
  const T& pick(const T (&table)[N]) {
    return table[byte() % N];
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

inline mcp::Message parse(const std::string& text) {
  auto message = mcp::Message::parse(text);
  LW_CHECK(message.has_value());
  return std::move(*message);
}

// A client request and all its results.
struct Track {
  int number = 0;
  core::ExchangeId id;
  std::string raw_id, raw_token, session;
  mcp::Method method = mcp::Method::other;
  mcp::Era era = mcp::Era::modern;
  bool takes_events = true;

  FakeCall* call = nullptr;  // while it exists
  uint64_t tag = 0;
  bool reply_exists = true;
  bool finished = false;
  bool gone = false;     // its client went away before it had an answer
  bool refused = false;  // finished with an error
  bool acknowledged = false;
  std::string expected;  // the very bytes of the server's answer as the client must get it

  bool open() const { return !finished && !gone; }
  bool listens() const { return method == mcp::Method::subscriptions_listen; }
};

// The number that a message carries as the string "m", or -1.
inline int marker(std::string_view message) {
  size_t at = message.find(R"("m":")");
  return at == std::string_view::npos ? -1 : std::atoi(message.data() + at + 5);
}

class FakeReply final : public core::ReplyStream {
 public:
  explicit FakeReply(Track& track) : track_(track) {}
  ~FakeReply() override {
    LW_CHECK(!track_.open());
    track_.reply_exists = false;
  }

  void send(std::string text) override {
    LW_CHECK(track_.open());
    auto message = mcp::Message::parse(std::move(text));
    LW_CHECK(message.has_value());
    const bool call_of_message = message->kind() == mcp::MessageKind::request;
    LW_CHECK(call_of_message || message->kind() == mcp::MessageKind::notification);
    const int from = marker(message->bytes());
    LW_CHECK(from < 0 || from == track_.number);
    const size_t session = message->bytes().find(R"("s":")");
    if (session != std::string::npos) {
      LW_CHECK(!track_.session.empty());
      LW_CHECK(message->bytes().compare(session + 5, track_.session.size(), track_.session) == 0);
    }
    if (track_.listens()) {
      LW_CHECK(track_.acknowledged);
      const std::string_view subscription = message->raw(mcp::Field::meta_subscription_id);
      LW_CHECK(subscription.empty() || subscription == track_.raw_id);
    } else if (message->has(mcp::Field::params_progress_token)) {
      LW_CHECK(message->raw(mcp::Field::params_progress_token) == track_.raw_token);
    }
  }
  void finish(std::string text, int status) override {
    LW_CHECK(track_.open() && status >= 200 && status < 600);
    track_.finished = true;
    if (!track_.expected.empty()) LW_CHECK(text == track_.expected);
    auto message = mcp::Message::parse(std::move(text));
    LW_CHECK(message.has_value() && message->raw(mcp::Field::id) == track_.raw_id);
    track_.refused = message->kind() == mcp::MessageKind::error;
    if (track_.refused && track_.expected.empty()) check_gateway_error(*message);
  }
  void finish_empty() override {
    LW_CHECK(track_.open() && track_.method != mcp::Method::initialize);
    track_.finished = true;
  }
  void cut() override { LW_CHECK(track_.open()); }
  bool can_send() const override { return track_.takes_events && track_.open(); }
  uint64_t bytes_out() const override { return 0; }

 private:
  static void check_gateway_error(const mcp::Message& message) {
    auto gateway = json::member(message.raw(mcp::Field::error_data), "io.lineward/gateway");
    LW_CHECK(gateway.has_value());
    const std::string reason = json::string_value(json::member(*gateway, "reason"));
    int code = 0;
    for (const auto& row : mcp::kEndReasons) {
      if (row.name == reason) code = row.code;
    }
    LW_CHECK(code > 0 && message.raw(mcp::Field::error_code) == std::to_string(code));
    auto limit = json::member(*gateway, "limitMs"), elapsed = json::member(*gateway, "elapsedMs");
    if (!limit || limit->front() == '-') return;
    LW_CHECK(elapsed && std::stoll(std::string(*elapsed)) >= std::stoll(std::string(*limit)));
  }

  Track& track_;
};

class FakeCall final : public core::Call {
 public:
  FakeCall(Track& track, mcp::Message request, core::CallCallbacks& owner)
      : track_(track), request_(std::move(request)), owner_(&owner) {
    track_.call = this;
  }
  ~FakeCall() override {
    LW_CHECK(!live());
    track_.call = nullptr;
  }
  // Once, and never when the call is over.
  void cancel(core::CancelCause) override {
    LW_CHECK(live());
    owner_ = nullptr;
  }
  bool live() const override { return owner_ != nullptr; }
  void reply(std::string) override { LW_CHECK(live()); }
  core::CallFacts call_facts() const override { return {&request_}; }
  void retried(mcp::Message message) override { request_ = std::move(message); }
  void hand_over(core::CallCallbacks& owner, core::Handover) override {
    LW_CHECK(live());
    owner_ = &owner;
  }

  void phase(core::CallPhase phase) {
    if (live()) owner_->on_call_phase(phase);
  }
  void message(const std::string& text) {
    if (live()) owner_->on_call_message(parse(text));
  }
  void answer(const std::string& text) {
    if (core::CallCallbacks* owner = std::exchange(owner_, nullptr)) owner->on_call_message(parse(text));
  }
  void fail(const core::Failure& failure) {
    if (core::CallCallbacks* owner = std::exchange(owner_, nullptr)) owner->on_call_failed(failure);
  }

 private:
  Track& track_;
  mcp::Message request_;
  core::CallCallbacks* owner_;
};

class FakeUpstream final : public core::Upstream {
 public:
  FakeUpstream() : Upstream("s") {}

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override {
    LW_CHECK(starting != nullptr && request.message.raw(mcp::Field::id) == starting->raw_id);
    LW_CHECK(request.method == starting->method && request.scope.session == starting->session);
    starting->tag = request.tag;
    if (refuses) return Unexpected<core::Failure>{{mcp::EndReason::queue_full, "full"}};
    return std::unique_ptr<core::Call>(
        std::make_unique<FakeCall>(*starting, std::move(request.message), owner));
  }
  void open_scope(const core::Scope& scope, core::ScopeCallbacks& owner) override {
    LW_CHECK(scopes.emplace(scope.session, &owner).second);
  }
  void close_scope(const core::Scope& scope) override {
    LW_CHECK(scopes.erase(scope.session) == 1);
    asked.erase(scope.session);
  }
  void send(const core::Scope& scope, mcp::Era, const mcp::Message& message,
            const core::HeaderFields&) override {
    if (message.kind() == mcp::MessageKind::notification) {
      LW_CHECK(message.bytes() == forwarding);
      return;
    }
    // An answer: to a question that was asked in this session, under its own id, once.
    LW_CHECK(message.kind() != mcp::MessageKind::request && scopes.count(scope.session) == 1);
    int& open = asked[scope.session][std::string(message.raw(mcp::Field::id))];
    LW_CHECK(open > 0);
    --open;
  }
  core::ServerFacts facts() const override { return {std::nullopt}; }
  void stop(std::function<void()> done) override { done(); }

  Track* starting = nullptr;  // the present caller of start()
  bool refuses = false;
  std::string forwarding;  // the notification that a client sends now
  std::map<std::string, core::ScopeCallbacks*> scopes;
  std::map<std::string, std::map<std::string, int>> asked;  // by session and the server's id
};

}  // namespace lineward::fuzz
