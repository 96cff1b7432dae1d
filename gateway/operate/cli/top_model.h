// The state of `lineward top`: the gateway's last answers, the selected call, and the effects of keys. Pure:
// knows no terminal and no gateway.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operate/cli/key_reader.h"

namespace lineward::cli {

enum class TopOrder : uint8_t { age, left, server, target, state, count_ };
std::string_view order_name(TopOrder order);

class TopModel {
 public:
  TopModel() = default;
  TopModel(const TopModel&) = delete;
  TopModel& operator=(const TopModel&) = delete;

  // A request by key that the caller must carry out.
  struct Wish {
    enum class Kind : uint8_t { quit, cancel, story } kind;
    std::string call;
  };

  void use_status(nlohmann::json status) { status_ = std::move(status); }
  // `ms`: since the last call, for rates.
  void use_servers(nlohmann::json servers, int64_t ms);
  // `total`: number of all calls, if `calls` are only the first.
  void use_calls(nlohmann::json calls, int64_t total);
  void use_log(nlohmann::json lines) { log_ = std::move(lines); }
  // Why no new data arrives, and the age of the shown data; empty: all is well.
  void use_trouble(std::string text) { trouble_ = std::move(text); }
  // A result, shown until the next key.
  void say(std::string text) { message_ = std::move(text); }
  void show_story(std::string text) { story_ = std::move(text); }

  // `page`: rows of calls on the screen.
  std::optional<Wish> press(const KeyPress& key, size_t page);

  const nlohmann::json& status() const { return status_; }
  const nlohmann::json& servers() const { return servers_; }
  const nlohmann::json& log() const { return log_; }
  // The filtered calls, in order.
  const std::vector<const nlohmann::json*>& calls() const { return shown_; }
  size_t total() const { return static_cast<size_t>(std::max<int64_t>(0, total_)); }
  size_t chosen() const { return chosen_; }
  // Calls ended at this server per second; negative: not known yet.
  double rate(const std::string& server) const;
  TopOrder order() const { return order_; }
  bool has_log() const { return wants_log_; }
  bool has_help() const { return help_; }
  const std::string& filter() const { return filter_; }
  const std::string& trouble() const { return trouble_; }
  const std::string& message() const { return message_; }
  const std::string& story() const { return story_; }
  // The line at the bottom is a question or an input field.
  enum class Prompt : uint8_t { none, filter, cancel };
  Prompt prompt() const { return prompt_; }
  const std::string& asked_call() const { return asked_call_; }

 private:
  std::optional<Wish> press_plain(const KeyPress& key, size_t page);
  void press_in_filter(const KeyPress& key);
  void sort_out();
  void choose(size_t index);
  bool takes(const nlohmann::json& call) const;

  nlohmann::json status_, servers_, calls_ = nlohmann::json::array(), log_;
  int64_t total_ = 0;
  std::map<std::string, int64_t> ended_;
  std::map<std::string, double> rates_;
  std::vector<const nlohmann::json*> shown_;
  size_t chosen_ = 0;
  std::string chosen_call_;
  TopOrder order_ = TopOrder::age;
  Prompt prompt_ = Prompt::none;
  std::string asked_call_;
  std::string filter_, filter_before_, trouble_, message_, story_;
  bool wants_log_ = false;
  bool help_ = false;
};

}  // namespace lineward::cli
