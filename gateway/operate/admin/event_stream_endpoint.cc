#include "operate/admin/event_stream_endpoint.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "foundation/base/random_id.h"
#include "foundation/log/tap.h"
#include "operate/admin/api_access.h"
#include "operate/admin/control_json.h"
#include "operate/admin/redact_json.h"

namespace lineward::admin {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// Limit of one write: other readers must not wait for the whole ring.
constexpr size_t kPiece = 64 * 1024;

// nullopt if a word is invalid.
std::optional<EventGroups> groups_of(std::string_view words) {
  EventGroups out = 0;
  while (!words.empty()) {
    std::string_view word = words.substr(0, words.find(','));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    EventGroups found = 0;
    for (size_t k = 0; k < static_cast<size_t>(EventGroup::count_); ++k) {
      if (word == name(static_cast<EventGroup>(k))) found = bit(static_cast<EventGroup>(k));
    }
    if (found == 0) return std::nullopt;
    out |= found;
  }
  return out;
}

}  // namespace

// A reader; owned by its connection.
class EventStreamEndpoint::Reader final : public OpsStream {
 public:
  Reader(std::weak_ptr<EventStreamEndpoint> endpoint, EventGroups wanted, std::string cursor,
         milliseconds now)
      : groups(wanted), endpoint_(std::move(endpoint)), cursor_(std::move(cursor)), moved_(now) {}
  ~Reader() override {
    auto endpoint = endpoint_.lock();
    if (!endpoint) return;
    endpoint->readers_.erase(this);
    endpoint->last_reader_ = endpoint->sources_.loop.now();
  }

  void begin(OpsHttpServer::Connection& to) override {
    sink_ = &to;
    auto endpoint = endpoint_.lock();
    if (!endpoint) return to.end();
    endpoint->readers_.insert(this);
    endpoint->watch();
    EventRing& feed = endpoint->ring();
    const std::string newest = feed.cursor(feed.newest());
    const auto known = feed.number_of(cursor_);
    at_ = known.value_or(feed.newest());
    // A reader that disconnects here resumes from its old position, not behind unread events.
    std::string text = fmt::format("retry: 1000\nevent: hello\nid: {}\ndata: {}\n\n", feed.cursor(at_),
                                   json{{"cursor", newest}, {"version", endpoint->sources_.version}}.dump());
    if (!cursor_.empty() && !known) {
      text += fmt::format("event: lost\nid: {}\ndata: {}\n\n", newest,
                          json{{"reason", "restarted"}, {"groups", json::array()}}.dump());
    }
    write(std::move(text));
    pump();
  }
  void drained() override { pump(); }
  void pump() {
    auto endpoint = endpoint_.lock();
    if (!endpoint || sink_ == nullptr) return;
    while (sink_->backlog() < kBacklog) {
      std::string text = endpoint->ring().read(at_, groups, kPiece);
      if (text.empty()) return;
      write(std::move(text));
    }
  }
  // False if it reads nothing any more, or its host is gone. `every`: the longest silence towards it.
  bool keep_alive(milliseconds now, milliseconds every) {
    if (sink_ == nullptr) return true;
    if (sink_->reader_is_silent(every)) return false;
    const uint64_t taken = written_ - sink_->backlog();
    if (std::exchange(taken_, taken) != taken) moved_ = now;
    if (sink_->backlog() > 0) return now - moved_ < kPatience;
    if (now - moved_ < every) return true;
    write(": still here\n\n");
    return true;
  }
  void end() {
    if (sink_ != nullptr) std::exchange(sink_, nullptr)->end();
  }

  const EventGroups groups;

 private:
  void write(std::string text) {
    written_ += text.size();
    sink_->write(std::move(text));
  }

  const std::weak_ptr<EventStreamEndpoint> endpoint_;
  const std::string cursor_;
  OpsHttpServer::Connection* sink_ = nullptr;
  uint64_t at_ = 0;
  uint64_t written_ = 0, taken_ = 0;  // bytes; taken_ as of the last check
  milliseconds moved_;                // time of the last read progress
};

std::shared_ptr<EventStreamEndpoint> EventStreamEndpoint::create(const Sources& sources) {
  std::shared_ptr<EventStreamEndpoint> endpoint(new EventStreamEndpoint(sources));
  endpoint->start();
  return endpoint;
}

void EventStreamEndpoint::start() {
  auto wake = [workers = &sources_.workers, weak = weak_from_this()] {
    workers->tell_first([weak] {
      if (auto endpoint = weak.lock()) endpoint->woken();
    });
  };
  ring_ = std::make_shared<EventRing>(random_id().substr(0, 8), std::move(wake));
  log::add_tap(ring_, log::Wants::warnings);
  tick();
}

EventStreamEndpoint::~EventStreamEndpoint() {
  log::end_tap(*ring_);
  ring_->close();
  use_tellers(false);
}

PlainResponse EventStreamEndpoint::open(const PlainRequest& request) {
  if (readers_.size() >= kMaxReaders)
    return refused(503,
                   fmt::format("{} readers are here already; that is as many as there may be", kMaxReaders));
  EventGroups groups = kAllGroups;
  if (auto types = request.parameter("types")) {
    auto some = groups_of(*types);
    if (!some || *some == 0) return refused(400, "types are calls, servers and log, separated by commas");
    groups = *some;
  }
  std::string cursor(request.head.headers.get("Last-Event-ID"));
  if (cursor.empty()) cursor = request.parameter("after").value_or("");
  PlainResponse out;
  out.content_type = "text/event-stream";
  out.stream = std::make_shared<Reader>(weak_from_this(), groups, cursor.substr(0, 64), sources_.loop.now());
  return out;
}

// There are events, or there were when this was requested.
void EventStreamEndpoint::woken() {
  if (pace_.running()) return;
  const auto since = sources_.loop.now() - delivered_;
  if (since >= kApart) return deliver();
  pace_.start(kApart - since, [this] { deliver(); });
}

void EventStreamEndpoint::deliver() {
  delivered_ = sources_.loop.now();
  ring_->rearm();
  // A reader is removed only by its connection, never from inside a write.
  for (Reader* reader : readers_)
    reader->pump();
}

// Enables the groups that readers want, or may resume.
void EventStreamEndpoint::watch() {
  EventGroups wanted = 0;
  for (const Reader* reader : readers_)
    wanted |= reader->groups;
  if (readers_.empty() && sources_.loop.now() - last_reader_ < kLinger) wanted = wanted_;
  // A reader that may resume keeps its groups, even while others read different ones.
  if (!readers_.empty()) wanted |= wanted_;
  if (wanted == wanted_) return;
  const bool calls = (wanted & bit(EventGroup::calls)) != 0;
  ring_->want(wanted);
  const bool lines = (wanted & bit(EventGroup::log)) != 0;
  log::tap_wants(*ring_, lines ? log::Wants::everything : log::Wants::warnings);
  wanted_ = wanted;
  if (calls == tellers_.empty()) use_tellers(calls);
}

void EventStreamEndpoint::use_tellers(bool wanted) {
  tellers_.clear();
  for (size_t k = 0; k < sources_.workers.workers(); ++k) {
    std::shared_ptr<CallEventPublisher> teller;
    if (wanted) teller = std::make_shared<CallEventPublisher>(sources_.workers.view(k).loop, ring_);
    exchange::CallWatcher watcher;
    if (wanted) watcher = [teller](const exchange::CallEvent& event) { teller->on_event(event); };
    sources_.workers.run(k, [&] { sources_.workers.view(k).exchanges.log().use_watcher(watcher); });
    if (wanted) tellers_.push_back(std::move(teller));
  }
}

void EventStreamEndpoint::tick() {
  tick_.start(kTick, [this] {
    tick();
    watch();
    if (wanted_ == 0) return;
    for (size_t k = 0; k < tellers_.size(); ++k)
      sources_.workers.run(k, [&] { tellers_[k]->flush(); });
    if ((wanted_ & bit(EventGroup::servers)) != 0) look_at_servers();
    std::vector<Reader*> stuck;
    for (Reader* reader : readers_) {
      if (!reader->keep_alive(sources_.loop.now(), sources_.config.listen.keep_alive))
        stuck.push_back(reader);
    }
    for (Reader* reader : stuck) {
      log::write(log::Level::debug, "events.reader_gone", {{"readers", uint64_t{readers_.size()}}});
      reader->end();
    }
  });
}

// Log lines report a server's events; its resulting state must be looked up.
void EventStreamEndpoint::look_at_servers() {
  json now;
  if (!sources_.workers.paused([&] { now = status_json(sources_, {}); })) return;
  std::map<std::string, std::string> seen;
  for (json& server : now["upstreams"]) {
    redact_json(server);
    std::string text = server.dump(-1, ' ', false, json::error_handler_t::replace);
    const std::string name = server["name"];
    auto before = servers_.find(name);
    if (before == servers_.end() || before->second != text)
      ring_->publish(EventGroup::servers, "server.state", text);
    seen.emplace(name, std::move(text));
  }
  for (const auto& [name, text] : servers_) {
    if (seen.count(name) == 0)
      ring_->publish(EventGroup::servers, "server.gone", json{{"name", name}}.dump());
  }
  servers_ = std::move(seen);
}

}  // namespace lineward::admin
