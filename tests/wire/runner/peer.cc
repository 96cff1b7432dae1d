#include "peer.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "json_raw.h"

namespace lineward::wire {

using nlohmann::json;

void Peer::run_block(const Block& block) {
  for (const auto& command : block) {
    check_stopped();
    line_ = command.line;
    run_.be_late();
    if (!execute_common(command)) execute(command);
  }
}

Clock::time_point Peer::deadline() const {
  auto limit = run_.deadline();
  for (auto t : deadlines_)
    limit = std::min(limit, t);
  return limit;
}

bool Peer::execute_common(const Command& command) {
  auto verb = command.verb();
  if (verb == "expect") {
    expect(command);
  } else if (verb == "barrier") {
    auto name = arg(command, 0);
    if (command.args[1].text != "sync") {
      run_.set_barrier(name, number(command, 1));
      return true;
    }
    run_.record(name_, ' ', "barrier " + name);
    if (!run_.sync(name, deadline())) {
      fail(fmt::format("barrier '{}': the others did not come ({} there)", name, run_.missing_at(name)));
    }
  } else if (verb == "loop") {
    int count = number(command, 0);
    for (int i = 0; i < count; ++i) {
      set_local("i", {std::to_string(i), true});
      run_block(command.block);
      line_ = command.line;
    }
  } else if (verb == "within") {
    deadlines_.push_back(Clock::now() + std::chrono::milliseconds(number(command, 0)));
    run_block(command.block);
    line_ = command.line;
    auto limit = deadlines_.back();
    deadlines_.pop_back();
    if (Clock::now() > limit) fail(fmt::format("the block took longer than {} ms", number(command, 0)));
  } else if (verb == "mark") {
    mark_ = Clock::now();
  } else if (verb == "set") {
    const Word& word = command.args[1];
    auto once = expand(word);
    const bool bare = command.flag("text");
    if (bare) {
      const auto parsed = json::parse(once, nullptr, false);
      if (!parsed.is_string()) fail("no JSON string: " + printable(once));
      once = parsed.get<std::string>();
    }
    auto text = once;
    for (auto times = std::atol(option(command, "times", "1").c_str()); times > 1; --times)
      text += once;
    run_.set(arg(command, 0), {text, !bare && word.kind != Word::Kind::quoted && is_json(text)});
  } else if (verb == "file") {
    auto path = run_.tmp() + "/" + arg(command, 0);
    std::filesystem::remove(path);
    std::ofstream(path) << arg(command, 1);
    std::filesystem::permissions(path, std::filesystem::perms(0600));
  } else if (verb == "note") {
    run_.record(name_, ' ', arg(command, 0));
  } else {
    return false;
  }
  return true;
}

std::string Peer::expand(const Word& word) const {
  std::string out;
  const auto& text = word.text;
  for (size_t at = 0;;) {
    size_t start = text.find("${", at);
    out += text.substr(at, start == std::string::npos ? start : start - at);
    if (start == std::string::npos) return out;
    size_t end = text.find('}', start);
    auto path = text.substr(start + 2, end - start - 2);
    auto value = resolve(path);
    if (!value) throw Failure(word.line, "${" + path + "} has no value yet");
    out += value->text;
    at = end + 1;
  }
}

std::string Peer::arg(const Command& command, size_t index, std::string_view otherwise) const {
  return index < command.args.size() ? expand(command.args[index]) : std::string(otherwise);
}

std::string Peer::option(const Command& command, std::string_view name, std::string_view otherwise) const {
  const Word* word = command.option(name);
  return word ? expand(*word) : std::string(otherwise);
}

int Peer::number(const Command& command, size_t index) const {
  auto text = arg(command, index);
  int value = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end != text.data() + text.size()) fail("'" + text + "' is not a number");
  return value;
}

void Peer::clear_locals(const std::string& prefix) {
  for (auto it = locals_.lower_bound(prefix);
       it != locals_.end() && it->first.compare(0, prefix.size(), prefix) == 0;) {
    it = locals_.erase(it);
  }
}

// The longest known name wins ("resp.header.date" before "resp"); the rest of the path walks into its JSON.
std::optional<Value> Peer::resolve(const std::string& text) const {
  if (text == "elapsed") {
    auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - mark_).count();
    return Value{std::to_string(ms), true};
  }
  auto path = parse_path(text);
  if (!path) throw Failure(line_, "bad path '" + text + "'");
  if (path->size() > 1 && (*path)[1] == "raw" && ((*path)[0] == "resp" || (*path)[0] == "event")) {
    path->insert(path->begin() + 1, "json");  // resp.raw.id: the bytes of resp.json.id
  }
  for (size_t used = path->size(); used > 0; --used) {
    std::string name;
    for (size_t i = 0; i < used; ++i)
      name += (i ? "." : "") + (*path)[i];
    std::optional<Value> value;
    if (auto local = locals_.find(name); local != locals_.end()) {
      value = local->second;
    } else {
      value = run_.get(name);
    }
    if (!value) continue;
    Path rest(path->begin() + static_cast<long>(used), path->end());
    if (rest.empty()) return value;
    if (rest.size() == 1 && rest[0] == "text") return Value{value->text, false};
    if (!value->json) {
      return rest.size() == 1 && rest[0] == "#"
                 ? std::optional(Value{std::to_string(value->text.size()), true})
                 : std::nullopt;
    }
    bool raw = rest[0] == "raw" && !find_raw(value->text, {"raw"});
    bool length = rest.back() == "#";
    if (length) rest.pop_back();
    auto bytes = find_raw(value->text, rest, raw ? 1 : 0);
    if (!bytes) return std::nullopt;
    if (length) {
      auto parsed = json::parse(*bytes, nullptr, false);
      size_t size = parsed.is_string() ? parsed.get_ref<const std::string&>().size() : parsed.size();
      return Value{std::to_string(size), true};
    }
    return Value{std::string(*bytes), !raw};
  }
  return std::nullopt;
}

std::optional<std::string> compare(const std::optional<Value>& left, const std::string& op,
                                   const std::string& right, bool right_is_text) {
  if (op == "absent") return left ? std::optional("it is there: " + printable(left->text)) : std::nullopt;
  if (!left) return "nothing of that name";
  if (op == "exists") return std::nullopt;
  const auto& text = left->text;
  auto verdict = [&](bool holds) { return holds ? std::nullopt : std::optional(printable(text)); };
  auto parsed = left->json ? json::parse(text, nullptr, false) : json();
  auto plain = left->json && parsed.is_string() ? parsed.get<std::string>() : text;
  if (op == "~" || op == "!~") return verdict(std::regex_search(plain, std::regex(right)) == (op == "~"));
  if (op == "contains") return verdict(plain.find(right) != std::string::npos);
  if (op == "==" || op == "!=") {
    bool equal = false;
    if (!left->json) {
      equal = text == right;
    } else if (right_is_text) {
      equal = parsed.is_string() && plain == right;
    } else {
      auto wanted = json::parse(right, nullptr, false);
      equal = !wanted.is_discarded() && wanted == parsed;
    }
    return verdict(equal == (op == "=="));
  }
  double a = 0, b = 0;
  auto number = [](const std::string& from, double& to) {
    auto [end, ec] = std::from_chars(from.data(), from.data() + from.size(), to);
    return ec == std::errc{} && end == from.data() + from.size();
  };
  if (!number(plain, a) || !number(right, b)) return verdict(false);
  if (op == "<") return verdict(a < b);
  if (op == "<=") return verdict(a <= b);
  if (op == ">") return verdict(a > b);
  if (op == ">=") return verdict(a >= b);
  return "unknown operator " + op;
}

void Peer::expect(const Command& command) {
  auto path = arg(command, 0);
  auto op = command.args[1].text;
  bool unary = op == "exists" || op == "absent";
  if (unary != (command.args.size() == 2)) fail("usage: expect PATH OP VALUE, or PATH exists|absent");
  std::string right;
  bool text = false;
  if (!unary) {
    const Word& word = command.args[2];
    right = expand(word);
    text = word.kind == Word::Kind::quoted;
  }
  if (auto came = compare(resolve(path), op, right, text)) {
    fail(fmt::format("expected {} {} {}; came {}", path, op, printable(right), *came));
  }
}

std::string from_hex(const std::string& hex, int line) {
  std::string out, digits;
  for (char c : hex) {
    if (c != ' ') digits += c;
  }
  for (size_t i = 0; i < digits.size(); i += 2) {
    unsigned value = 0;
    auto [end, ec] =
        std::from_chars(digits.data() + i, digits.data() + std::min(i + 2, digits.size()), value, 16);
    if (ec != std::errc{} || end != digits.data() + i + 2) throw Failure(line, "not hex: " + hex);
    out += static_cast<char>(value);
  }
  return out;
}

}  // namespace lineward::wire
