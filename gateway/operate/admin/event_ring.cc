#include "operate/admin/event_ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "foundation/log/sanitize.h"
#include "proxy/exchange/call_views.h"

namespace lineward::admin {
namespace {

using nlohmann::json;

// Limit of a value in a line: longer values come from outside.
constexpr size_t kMaxValue = 2000;
constexpr size_t kMaxSaidLine = 500;

constexpr std::string_view level_name(log::Level level) {
  switch (level) {
    case log::Level::debug: return "debug";
    case log::Level::info: return "info";
    case log::Level::warn: return "warn";
    case log::Level::error:
    case log::Level::off: break;
  }
  return "error";
}

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// The event derived from a log line; empty: none.
std::string event_of(std::string_view line) {
  constexpr std::string_view kOfServers = "upstream.";
  if (begins(line, kOfServers)) return "server." + std::string(line.substr(kOfServers.size()));
  if (begins(line, "session.")) return std::string(line);
  if (begins(line, "config.") || begins(line, "admin.") || line == "drain" || line == "stop")
    return "gateway." + std::string(line);
  return {};
}

void append_event(std::string& out, std::string_view type, std::string_view id, std::string_view data) {
  out += "event: ";
  out += type;
  out += "\nid: ";
  out += id;
  out += "\ndata: ";
  out += data;  // one line: JSON made by Lineward
  out += "\n\n";
}

}  // namespace

std::string_view name(EventGroup group) {
  constexpr std::array<std::string_view, static_cast<size_t>(EventGroup::count_)> kNames{"calls", "servers",
                                                                                         "log"};
  return kNames[static_cast<size_t>(group)];
}

void EventRing::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  wake_ = nullptr;
}

void EventRing::want(EventGroups groups) {
  std::lock_guard<std::mutex> lock(mutex_);
  const EventGroups fresh = groups & ~wanted_.load(std::memory_order_relaxed);
  // A separate number: new readers begin with it, and for earlier readers something is missing.
  if (fresh != 0) ++last_;
  for (size_t k = 0; k < rings_.size(); ++k) {
    if ((fresh & bit(static_cast<EventGroup>(k))) == 0) continue;
    rings_[k].events.clear();
    rings_[k].bytes = 0;
    rings_[k].gone = last_;
  }
  wanted_ = groups;
}

void EventRing::wake() {
  if (woken_.exchange(true)) return;
  std::function<void()> wake;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    wake = wake_;
  }
  if (wake) wake();
}

void EventRing::put(std::unique_lock<std::mutex>&, EventGroup group, std::string_view type,
                    std::string data) {
  const auto index = static_cast<size_t>(group);
  Ring& ring = rings_[index];
  ring.bytes += type.size() + data.size();
  ring.events.push_back({++last_, std::string(type), std::move(data)});
  while (ring.events.size() > kBounds[index].events || ring.bytes > kBounds[index].bytes) {
    const Event& oldest = ring.events.front();
    ring.gone = oldest.number;
    ring.bytes -= oldest.type.size() + oldest.data.size();
    ring.events.pop_front();
  }
}

void EventRing::publish(EventGroup group, std::string_view type, std::string data) {
  if (!wants(group)) return;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (closed_) return;
    put(lock, group, type, std::move(data));
  }
  wake();
}

void EventRing::skipped(EventGroup group, uint64_t count) {
  publish(group, "lost",
          json{{"reason", "too_many"}, {"groups", json::array({name(group)})}, {"events", count}}.dump());
}

uint64_t EventRing::newest() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

std::string EventRing::cursor(uint64_t number) const {
  return fmt::format("{}-{}", run_, number);
}

std::optional<uint64_t> EventRing::number_of(std::string_view cursor) const {
  if (cursor.size() <= run_.size() + 1 || cursor.substr(0, run_.size()) != run_ || cursor[run_.size()] != '-')
    return std::nullopt;
  uint64_t number = 0;
  const char* end = cursor.data() + cursor.size();
  auto [stop, fault] = std::from_chars(cursor.data() + run_.size() + 1, end, number);
  if (fault != std::errc() || stop != end || number > newest()) return std::nullopt;
  return number;
}

std::string EventRing::read(uint64_t& at, EventGroups groups, size_t most) const {
  std::string out;
  std::lock_guard<std::mutex> lock(mutex_);
  json names = json::array();
  uint64_t from = at;
  for (size_t k = 0; k < rings_.size(); ++k) {
    if ((groups & bit(static_cast<EventGroup>(k))) == 0) continue;
    names.push_back(name(static_cast<EventGroup>(k)));
    from = std::max(from, rings_[k].gone);
  }
  // A reader that missed events of one group must read the whole state again, so it continues where all
  // groups are complete.
  if (from > at) {
    at = from;
    append_event(out, "lost", cursor(at), json{{"reason", "overtaken"}, {"groups", names}}.dump());
  }
  std::array<std::deque<Event>::const_iterator, static_cast<size_t>(EventGroup::count_)> next;
  for (size_t k = 0; k < rings_.size(); ++k) {
    next[k] = std::upper_bound(rings_[k].events.begin(), rings_[k].events.end(), at,
                               [](uint64_t number, const Event& event) { return number < event.number; });
  }
  while (out.size() < most) {
    const Event* first = nullptr;
    size_t of = 0;
    for (size_t k = 0; k < rings_.size(); ++k) {
      if ((groups & bit(static_cast<EventGroup>(k))) == 0 || next[k] == rings_[k].events.end()) continue;
      if (first == nullptr || next[k]->number < first->number) {
        first = &*next[k];
        of = k;
      }
    }
    if (first == nullptr) {
      at = last_;
      return out;
    }
    append_event(out, first->type, cursor(first->number), first->data);
    at = first->number;
    ++next[of];
  }
  return out;
}

std::vector<EventRing::Line> EventRing::lines(const LogQuery& query, bool& more) const {
  std::vector<Line> out;
  more = false;
  std::lock_guard<std::mutex> lock(mutex_);
  auto wanted = [&](const Line& line) {
    return line.number > query.after && line.level >= query.least &&
           exchange::is_of(query.upstream, line.upstream, line.route);
  };
  if (query.after > 0) {
    for (const Line& line : lines_) {
      if (!wanted(line)) continue;
      if (out.size() == query.limit) {
        more = true;
        break;
      }
      out.push_back(line);
    }
    return out;
  }
  for (auto line = lines_.rbegin(); line != lines_.rend() && out.size() < query.limit; ++line) {
    if (wanted(*line)) out.push_back(*line);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<EventRing::Said> EventRing::stderr_of(const std::string& server) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = said_.find(server);
  if (found == said_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void EventRing::keep_line(Line line) {
  line_bytes_ += line.json.size();
  lines_.push_back(std::move(line));
  while (lines_.size() > kMaxLines || line_bytes_ > kMaxLineBytes) {
    line_bytes_ -= lines_.front().json.size();
    lines_.pop_front();
  }
}

void EventRing::told(log::Level level, std::string_view event, std::initializer_list<log::Field> fields,
                     std::string_view iso_time) {
  json line{{"time", iso_time}, {"level", level_name(level)}, {"event", event}};
  std::string upstream, route, text;
  int64_t pid = 0;
  for (const log::Field& field : fields) {
    if (field.number) {
      line[std::string(field.key)] = field.value;
      if (field.key == "pid") pid = field.value;
      continue;
    }
    if (field.text.empty()) continue;
    std::string value = sanitize(field.text, kMaxValue);
    if (field.key == "upstream") upstream = value;
    if (field.key == "route") route = value;
    if (field.key == "line") text = value.substr(0, kMaxSaidLine);
    line[std::string(field.key)] = std::move(value);
  }
  std::string data = line.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::string type = event_of(event);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (closed_) return;
    if (event == "upstream.stderr" && !text.empty() &&
        (said_.size() < kMaxServers || said_.count(upstream) > 0)) {
      std::deque<Said>& said = said_[upstream];
      said.push_back({std::string(iso_time), pid, text});
      if (said.size() > kMaxSaid) said.pop_front();
    }
    if (!type.empty() && wants(EventGroup::servers)) put(lock, EventGroup::servers, type, data);
    if (wants(EventGroup::log)) put(lock, EventGroup::log, "log", data);
    const uint64_t number = wants(EventGroup::log) ? last_ : ++last_;
    keep_line({number, level, upstream, route, std::move(data)});
  }
  if (wants(EventGroup::log) || (!type.empty() && wants(EventGroup::servers))) wake();
}

}  // namespace lineward::admin
