// The table of exchanges between a scripted client and a scripted upstream. The bytes are the script:
// requests start, are answered, fail, are cancelled, lose their client, run out of time; sessions come and
// go. Invariants for any input. Each exchange ends once, and its call with it. Answers reach their own client
// under its own id byte for byte, and nothing follows an answer. Time limits hold and are never early. In the
// end nothing is left.
#include <fmt/format.h>
#include <uv.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exchange_fakes.h"
#include "foundation/log/log.h"
#include "foundation/net/loop.h"
#include "proxy/client/session/session.h"
#include "proxy/exchange/exchange_table.h"
#include "virtual_clock.h"

using namespace lineward;
using fuzz::FakeCall;
using fuzz::parse;
using fuzz::Script;
using fuzz::Track;
using mcp::EndReason;
using mcp::Method;
using std::chrono::milliseconds;

using namespace fuzz::words;

namespace {

constexpr size_t kMaxOps = 400;
constexpr size_t kMaxTracks = 64;

class World {
 public:
  explicit World(Script& script)
      : script_(script),
        sessions_(loop_, config_.listen, [this](const std::string& id) { end_session(id); }),
        table_(loop_, config_) {
    config_.listen.max_sessions = 3;
    for (milliseconds* limit :
         {&server_.timeouts.startup, &server_.timeouts.request, &server_.timeouts.max_duration,
          &server_.timeouts.park, &server_.limits.queue_timeout}) {
      *limit = milliseconds(script_.pick(kLimits));
    }
    server_.timeouts.progress_resets = script_.byte() & 1;
    table_.sessions().use_sessions(sessions_);
    table_.servers().add(upstream_, server_);
  }

  void run() {
    for (size_t ops = 0; ops < kMaxOps && script_.more(); ++ops) {
      step();
      check();
    }
    end();
  }

 private:
  void step() {
    switch (script_.byte() % 20) {
      case 0: return start(mcp::Era::modern, {});
      case 1:
        if (auto* session = any_session()) start(mcp::Era::legacy, session->id);
        return;
      case 2: return start_session();
      case 3: return turn();
      case 4: return advance(milliseconds(script_.pick(kLimits)));
      case 5:
        if (FakeCall* call = any_call()) call->phase(static_cast<core::CallPhase>(script_.byte() % 3));
        return;
      case 6: return answer_result();
      case 7: return answer_error();
      case 8: return progress();
      case 9: return listen_message();
      case 10:
        if (FakeCall* call = any_call()) call->message(log_text(picked_->number));
        return;
      case 11:
        if (FakeCall* call = any_call()) {
          call->fail(
              {script_.byte() % 2 ? EndReason::upstream_exited : EndReason::upstream_protocol, "gone \"\n"});
        }
        return;
      case 12: return client_left();
      case 13: return client_notifies();
      case 14: return server_asks();
      case 15: return client_answers();
      case 16:
        if (auto* session = any_session()) end_session(std::string(session->id));
        return;
      case 17: return scope_event();
      case 18: upstream_.refuses = script_.byte() % 4 == 1; return;
      case 19:
        if (script_.byte() % 8 == 1) table_.end_all(EndReason::cancelled_operator, "an operator");
        if (script_.byte() % 4 == 1) table_.end_listens();
        return;
    }
  }

  // ---- ends ----
  Track* any_track() { return tracks_.empty() ? nullptr : tracks_[script_.byte() % tracks_.size()].get(); }
  FakeCall* any_call() {
    picked_ = any_track();
    return picked_ != nullptr ? picked_->call : nullptr;
  }
  client::Session* any_session() {
    std::erase_if(session_ids_, [&](const std::string& id) { return sessions_.find(id) == nullptr; });
    return session_ids_.empty() ? nullptr
                                : sessions_.find(session_ids_[script_.byte() % session_ids_.size()]);
  }

  // ---- the client ----
  void start(mcp::Era era, std::string session, std::string_view method = {}) {
    if (tracks_.size() >= kMaxTracks) return;
    auto& track = *tracks_.emplace_back(std::make_unique<Track>());
    track.number = static_cast<int>(tracks_.size());
    track.raw_id = script_.pick(kIds);
    track.raw_token = script_.pick(kTokens);
    if (method.empty()) method = script_.pick(kMethods);
    track.method = mcp::method_of(method);
    track.era = era;
    track.session = session;
    const uint8_t flags = script_.byte();
    track.takes_events = (flags & 1) == 0;
    std::string meta = track.raw_token.empty() ? "" : fmt::format(R"("progressToken":{},)", track.raw_token);
    core::IncomingMessage arrival;
    arrival.message = parse(fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{{"name":"n","_meta":{{{}"io.lineward/timeoutMs":{}}}}}}})",
        track.raw_id, method, meta,
        flags & 2   ? "9223372036854775807"
        : flags & 4 ? "2"
                    : "\"x\""));
    arrival.from->method = track.method;
    arrival.from->era = era;
    arrival.from->upstream = (flags & 0xf0) == 0xf0 ? "elsewhere" : "s";
    arrival.from->session = std::move(session);
    if (flags & 8) arrival.from->wait = milliseconds(script_.pick(kLimits));
    upstream_.starting = &track;
    track.id = table_.start(std::move(arrival), std::make_unique<fuzz::FakeReply>(track));
    upstream_.starting = nullptr;
    LW_CHECK(track.id &&
             (track.tag == 0 || track.tag == (uint64_t{track.id.generation} << 32 | track.id.index)));
  }

  void start_session() {
    if (tracks_.size() >= kMaxTracks) return;
    client::Session* session = sessions_.create("p", "s", nullptr);
    if (session == nullptr) return;
    session_ids_.push_back(session->id);
    start(mcp::Era::legacy, session->id, "initialize");
  }

  void client_left() {
    Track* track = any_track();
    if (track == nullptr) return;
    track->gone = track->gone || track->open();
    table_.client_left(track->id,
                       script_.byte() & 1 ? EndReason::client_too_slow : EndReason::cancelled_client);
  }

  // A cancel ends at most the newest call of that session and id; other notifications go up as they are.
  void client_notifies() {
    client::Session* session = any_session();
    core::IncomingMessage arrival;
    const uint8_t what = script_.byte();
    arrival.from->era = session != nullptr && what & 1 ? mcp::Era::legacy : mcp::Era::modern;
    if (arrival.from->era == mcp::Era::legacy) arrival.from->session = session->id;
    arrival.from->upstream = "s";
    const bool cancel = (what & 2) == 0;
    arrival.from->method = cancel ? Method::cancelled : Method::roots_list_changed;
    const std::string_view raw_id = script_.pick(kIds);
    upstream_.forwarding =
        cancel ? fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}})",
                             what & 4 ? "{}" : fmt::format(R"({{"requestId":{}}})", raw_id))
               : R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed","x":1.0})";
    arrival.message = parse(upstream_.forwarding);
    Track* newest = nullptr;
    for (auto& track : tracks_) {
      if (cancel && arrival.from->era == mcp::Era::legacy && !(what & 4) && track->open() &&
          track->session == arrival.from->session &&
          mcp::canonical_id(track->raw_id) == mcp::canonical_id(raw_id)) {
        newest = track.get();
      }
    }
    const bool ends = newest != nullptr && newest->method != Method::initialize;
    const size_t before = open_tracks();
    table_.notified(std::move(arrival));
    LW_CHECK(open_tracks() == before - (ends ? 1 : 0) && (!ends || newest->finished));
  }

  void client_answers() {
    client::Session* session = any_session();
    if (session == nullptr) return;
    const uint8_t what = script_.byte();
    std::string id = std::to_string(1 + what % 8);
    if (what & 64) id += ".0";
    if (what & 128) id = '"' + id + '"';
    const char* body = what & 32 ? R"("error":{"code":1,"message":""})" : R"("result":{})";
    table_.answered(session->id, parse(fmt::format(R"({{"jsonrpc":"2.0","id":{},{}}})", id, body)),
                    what & 16 ? core::AnswerCame::elsewhere : core::AnswerCame::here);
  }

  // ---- the server ----
  void answer_result() {
    FakeCall* call = any_call();
    if (call == nullptr || !call->live()) return;
    const uint8_t what = script_.byte();
    std::string result = fmt::format(R"("m":"{}")", picked_->number);
    if (what & 1) result += R"(, "isError":true)";
    if (what & 2) result += R"(,"resultType":"input_required")";
    if (what & 4) result += R"(,"protocolVersion":"2025-11-25")";
    std::string versions = what & 8 ? R"(,"supportedVersions":["2026-07-28","2024-11-05","x"])" : "";
    std::string spoken = versions;
    if (picked_->method == Method::server_discover && !versions.empty()) {
      spoken = R"(,"supportedVersions":["2026-07-28"])";
    }
    const std::string frame =
        R"({{ "jsonrpc":"2.0","id" : {0},"result":{{{1}{2},"_meta":{{{3}}}}}, "n":1.50 }})";
    auto subscription = [&](std::string_view id) {
      return what & 16 ? fmt::format(R"("io.modelcontextprotocol/subscriptionId":{})", id) : std::string();
    };
    // The id in a listen's own result is the client's, also where the server left it out; anywhere else it is
    // the server's business.
    const std::string seen =
        picked_->listens() ? fmt::format(R"("io.modelcontextprotocol/subscriptionId":{})", picked_->raw_id)
                           : subscription("17");
    picked_->expected = fmt::format(fmt::runtime(frame), picked_->raw_id, result, spoken, seen);
    call->answer(fmt::format(fmt::runtime(frame), 17, result, versions, subscription("17")));
    LW_CHECK(picked_->finished);
  }

  void answer_error() {
    FakeCall* call = any_call();
    if (call == nullptr || !call->live()) return;
    static constexpr std::string_view kCodes[] = {"-32601",      "-32022", "-32002",
                                                  "99999999999", "\"x\"",  "-32022.0"};
    const std::string_view code = script_.pick(kCodes);
    const bool listed = script_.byte() & 1;
    const std::string frame = R"({{"jsonrpc":"2.0","id":{0},"error":{{"code":{1},"message":"x"{2}}}}})";
    std::string data = listed ? R"(,"data":{"supported":["2026-07-28","2024-11-05"]})" : "";
    std::string spoken =
        listed && mcp::error_code(parse(fmt::format(fmt::runtime(frame), 1, code, ""))) == -32022
            ? R"(,"data":{"supported":["2026-07-28"]})"
            : data;
    picked_->expected = fmt::format(fmt::runtime(frame), picked_->raw_id, code, spoken);
    call->answer(fmt::format(fmt::runtime(frame), 17, code, data));
    LW_CHECK(picked_->finished);
  }

  void progress() {
    FakeCall* call = any_call();
    if (call == nullptr) return;
    call->message(progress_text(picked_->number));
  }

  void listen_message() {
    FakeCall* call = any_call();
    if (call == nullptr || !call->live() || !picked_->listens()) return;
    static constexpr std::string_view kNotes[] = {"notifications/subscriptions/acknowledged",
                                                  "notifications/tools/list_changed",
                                                  "notifications/cancelled"};
    const std::string_view method = script_.pick(kNotes);
    if (method == kNotes[0]) picked_->acknowledged = true;
    call->message(listen_text(method, picked_->number, script_.byte() & 1 ? "17" : "\"17\""));
    LW_CHECK(picked_->finished == (method == kNotes[2]));
  }

  void server_asks() {
    client::Session* session = any_session();
    auto scope = session != nullptr ? upstream_.scopes.find(session->id) : upstream_.scopes.end();
    if (scope == upstream_.scopes.end()) return;
    const std::string_view id = script_.pick(kIds);
    const std::optional<uint64_t> only = only_call(session->id);
    for (int i = script_.byte() == 255 && !std::exchange(flooded_, true) ? 300 : 1; i > 0; --i) {
      ++upstream_.asked[session->id][std::string(id)];
      scope->second->on_scope_message(
          parse(fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"roots/list","params":{{"s":"{}"}}}})", id,
                            session->id)),
          only);
    }
  }

  void scope_event() {
    client::Session* session = any_session();
    auto scope = session != nullptr ? upstream_.scopes.find(session->id) : upstream_.scopes.end();
    if (scope == upstream_.scopes.end()) return;
    const uint8_t what = script_.byte();
    const std::string_view id = script_.pick(kIds);
    const std::optional<uint64_t> only = only_call(session->id);
    if (what % 4 == 0) {
      upstream_.asked.erase(session->id);
      return scope->second->on_scope_reset();
    }
    const char* method = what % 4 == 1 ? "cancelled" : what % 4 == 2 ? "message" : "tools/list_changed";
    std::string request = what & 4 ? "" : fmt::format(R"("requestId":{},)", id);
    scope->second->on_scope_message(
        parse(fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/{}","params":{{{}"s":"{}"}}}})",
                          method, request, session->id)),
        only);
  }

  // The tag of a call of that session, ended maybe, or none.
  std::optional<uint64_t> only_call(const std::string& session) {
    Track* track = any_track();
    if (track == nullptr || track->session != session || track->tag == 0) return std::nullopt;
    return track->tag;
  }

  // ---- time and the end ----
  void turn() { uv_run(loop_.raw(), UV_RUN_NOWAIT); }
  void advance(milliseconds by) {
    fuzz::advance_clock(by);
    turn();
    check();
    turn();
  }

  void end_session(const std::string& id) {
    for (auto& track : tracks_) {
      if (track->open() && track->session == id && track->method == Method::initialize) track->gone = true;
    }
    table_.session_ended(id);
    LW_CHECK(sessions_.find(id) == nullptr && upstream_.scopes.count(id) == 0);
    for (auto& track : tracks_)
      LW_CHECK(track->session != id || !track->open());
  }

  size_t open_tracks() const {
    return static_cast<size_t>(
        std::count_if(tracks_.begin(), tracks_.end(), [](const auto& track) { return track->open(); }));
  }

  // Holds between any two steps.
  void check() {
    LW_CHECK(table_.live().size() == open_tracks());
    for (auto& track : tracks_) {
      LW_CHECK((table_.live().find(track->id) != nullptr) == track->open());
      if (!track->open()) LW_CHECK(track->call == nullptr || !track->call->live());
    }
    for (const std::string& id : session_ids_) {
      client::Session* session = sessions_.find(id);
      if (session == nullptr) continue;
      auto live = std::count_if(tracks_.begin(), tracks_.end(),
                                [&](const auto& track) { return track->open() && track->session == id; });
      LW_CHECK(session->exchanges == static_cast<uint32_t>(live));
    }
  }

  void end() {
    int empty = 0;
    table_.when_empty([&] { ++empty; });
    // Each phase has its limit: queue, start, question and call have their limits.
    for (int i = 0; i < 12; ++i)
      advance(milliseconds(600001));
    for (auto& track : tracks_)
      LW_CHECK(!track->open() || (track->listens() && track->acknowledged));
    table_.end_listens();
    table_.end_all(EndReason::cancelled_drain, "the end");
    check();
    LW_CHECK(table_.live().size() == 0);
    turn();
    LW_CHECK(empty == 1);
    for (const std::string& id : sessions_.ids())
      end_session(id);
    turn();
    LW_CHECK(sessions_.size() == 0 && upstream_.scopes.empty());
    for (auto& track : tracks_)
      LW_CHECK(!track->reply_exists && track->call == nullptr);
  }

  Script& script_;
  config::Config config_;
  config::Server server_;
  net::Loop loop_;
  std::vector<std::unique_ptr<Track>> tracks_;
  std::vector<std::string> session_ids_;
  Track* picked_ = nullptr;
  bool flooded_ = false;
  fuzz::FakeUpstream upstream_;
  client::SessionTable sessions_;
  exchange::ExchangeTable table_;
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  log::configure(log::Format::logfmt, log::Level::off, false);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Script script(data, size);
  World(script).run();
  return 0;
}
