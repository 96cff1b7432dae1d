#include "operate/cli/top_model.h"

#include <algorithm>
#include <array>

#include "operate/cli/control_text.h"
#include "operate/cli/json_fields.h"

namespace lineward::cli {
namespace {

using nlohmann::json;

constexpr size_t kMaxFilter = 100;

std::string lowered(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// Removes the last character.
void shorten(std::string& text) {
  while (!text.empty()) {
    const bool continues = (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80;
    text.pop_back();
    if (!continues) return;
  }
}

bool comes_before(const json& a, const json& b, TopOrder order) {
  constexpr int64_t kNever = INT64_MAX;
  switch (order) {
    case TopOrder::left: return number_of(a, "left_ms", kNever) < number_of(b, "left_ms", kNever);
    case TopOrder::server: return upstream_text(a) < upstream_text(b);
    case TopOrder::target: return target_text(a) < target_text(b);
    case TopOrder::state: return text_of(a, "state") < text_of(b, "state");
    case TopOrder::age:
    case TopOrder::count_: break;
  }
  return number_of(a, "age_ms") > number_of(b, "age_ms");
}

}  // namespace

std::string_view order_name(TopOrder order) {
  constexpr std::array<std::string_view, static_cast<size_t>(TopOrder::count_)> kNames{
      "age", "left", "server", "target", "state"};
  return kNames[static_cast<size_t>(order)];
}

void TopModel::use_servers(json servers, int64_t ms) {
  servers_ = servers.is_array() ? std::move(servers) : json::array();
  std::map<std::string, int64_t> now;
  rates_.clear();
  for (const json& one : servers_) {
    const std::string server = text_of(one, "name");
    const int64_t ended = number_of(member_of(one, "counts"), "calls");
    now[server] = ended;
    auto before = ended_.find(server);
    // A lower count comes from another process.
    if (before != ended_.end() && ms > 0 && ended >= before->second)
      rates_[server] = static_cast<double>(ended - before->second) * 1000 / static_cast<double>(ms);
  }
  ended_ = std::move(now);
}

double TopModel::rate(const std::string& server) const {
  auto found = rates_.find(server);
  return found == rates_.end() ? -1 : found->second;
}

void TopModel::use_calls(json calls, int64_t total) {
  calls_ = std::move(calls);
  total_ = total;
  sort_out();
}

bool TopModel::takes(const json& call) const {
  if (filter_.empty()) return true;
  const std::string wanted = lowered(filter_);
  for (const std::string& text : {text_of(call, "id"), upstream_text(call), text_of(call, "method"),
                                  target_text(call), client_text(call), state_text(call)}) {
    if (lowered(text).find(wanted) != std::string::npos) return true;
  }
  return false;
}

// The selected call stays selected while it exists, at any position.
void TopModel::sort_out() {
  shown_.clear();
  for (const json& one : calls_) {
    if (takes(one)) shown_.push_back(&one);
  }
  std::stable_sort(shown_.begin(), shown_.end(),
                   [this](const json* a, const json* b) { return comes_before(*a, *b, order_); });
  auto found = std::find_if(shown_.begin(), shown_.end(),
                            [this](const json* one) { return text_of(*one, "id") == chosen_call_; });
  choose(found == shown_.end() ? chosen_ : static_cast<size_t>(found - shown_.begin()));
}

void TopModel::choose(size_t index) {
  chosen_ = shown_.empty() ? 0 : std::min(index, shown_.size() - 1);
  chosen_call_ = shown_.empty() ? std::string() : text_of(*shown_[chosen_], "id");
}

std::optional<TopModel::Wish> TopModel::press(const KeyPress& key, size_t page) {
  message_.clear();
  if (prompt_ == Prompt::filter) {
    press_in_filter(key);
    return std::nullopt;
  }
  if (prompt_ == Prompt::cancel) {
    prompt_ = Prompt::none;
    if (key.text == "y" || key.text == "Y") return Wish{Wish::Kind::cancel, asked_call_};
    message_ = asked_call_ + " goes on";
    return std::nullopt;
  }
  if (help_ || !story_.empty()) {
    help_ = false;
    story_.clear();
    return std::nullopt;
  }
  return press_plain(key, page);
}

std::optional<TopModel::Wish> TopModel::press_plain(const KeyPress& key, size_t page) {
  const size_t step = std::max<size_t>(page, 1);
  const size_t last = shown_.empty() ? 0 : shown_.size() - 1;
  const std::string& text = key.text;
  if (text == "q") return Wish{Wish::Kind::quit, {}};
  if (key.key == Key::up || text == "k") {
    choose(chosen_ == 0 ? 0 : chosen_ - 1);
  } else if (key.key == Key::down || text == "j") {
    choose(chosen_ + 1);
  } else if (key.key == Key::page_up) {
    choose(chosen_ < step ? 0 : chosen_ - step);
  } else if (key.key == Key::page_down || text == " ") {
    choose(chosen_ + step);
  } else if (key.key == Key::home || text == "g") {
    choose(0);
  } else if (key.key == Key::end || text == "G") {
    choose(last);
  } else if (text == "s") {
    order_ = static_cast<TopOrder>((static_cast<size_t>(order_) + 1) % static_cast<size_t>(TopOrder::count_));
    sort_out();
  } else if (text == "l") {
    wants_log_ = !wants_log_;
  } else if (text == "?" || text == "h") {
    help_ = true;
  } else if (text == "/") {
    prompt_ = Prompt::filter;
    filter_before_ = filter_;
  } else if (key.key == Key::escape && !filter_.empty()) {
    filter_.clear();
    sort_out();
  } else if (chosen_call_.empty()) {
    return std::nullopt;
  } else if (text == "c") {
    prompt_ = Prompt::cancel;
    asked_call_ = chosen_call_;
  } else if (key.key == Key::enter) {
    return Wish{Wish::Kind::story, chosen_call_};
  }
  return std::nullopt;
}

void TopModel::press_in_filter(const KeyPress& key) {
  if (key.key == Key::enter) {
    prompt_ = Prompt::none;
  } else if (key.key == Key::escape) {
    prompt_ = Prompt::none;
    filter_ = filter_before_;
  } else if (key.key == Key::backspace) {
    shorten(filter_);
  } else if (key.key == Key::text && filter_.size() < kMaxFilter) {
    filter_ += key.text;
  }
  sort_out();
}

}  // namespace lineward::cli
