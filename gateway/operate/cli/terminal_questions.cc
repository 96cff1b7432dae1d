#include "operate/cli/terminal_questions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "config/options/read_value.h"
#include "foundation/log/sanitize.h"
#include "operate/cli/json_fields.h"
#include "operate/mcp_client/arguments.h"

namespace lineward::cli {
namespace {

using nlohmann::json;

constexpr size_t kMaxFields = 50;
constexpr size_t kMaxTyped = 64 * 1024;

const json& member_object(const json& holder, const char* key) {
  static const json empty = json::object();
  auto found = holder.find(key);
  return found != holder.end() && found->is_object() ? *found : empty;
}

// The choices of `oneOf` with their titles.
std::vector<std::pair<json, std::string>> titled_choices(const json& property) {
  std::vector<std::pair<json, std::string>> out;
  auto choices = property.find("oneOf");
  if (choices == property.end() || !choices->is_array()) return out;
  for (const json& one : *choices) {
    if (one.is_object() && one.contains("const")) out.emplace_back(one["const"], text_of(one, "title"));
  }
  return out;
}

json said(const char* action) {
  return json{{"action", action}};
}

}  // namespace

Result<json> field_value(const json& property, const json& schema, const std::string& text) {
  const auto choices = titled_choices(property);
  if (choices.empty()) return mcp_client::typed_value(property, schema, text);
  std::string all;
  for (const auto& [value, title] : choices) {
    if (text == title || (value.is_string() && value.get_ref<const std::string&>() == text) ||
        value.dump() == text)
      return value;
    all += (all.empty() ? "" : ", ") + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return fail(fmt::format("'{}' is none of {}", config::clip(text), sanitize(all, 300)));
}

std::string field_prompt(const std::string& name, const json& property, bool required) {
  std::string type = mcp_client::type_words(property, property);
  const auto choices = titled_choices(property);
  if (!choices.empty()) {
    type.clear();
    for (const auto& [value, title] : choices) {
      const std::string word = value.is_string() ? value.get<std::string>() : value.dump();
      type += (type.empty() ? "" : " | ") + (title.empty() || title == word ? word : word + ": " + title);
    }
  }
  std::string about = text_of(property, "description");
  if (about.empty()) about = text_of(property, "title");
  std::string out = fmt::format("  {} ({}{})", sanitize(name, 60), sanitize(type, 200),
                                required ? "" : ", may be left out");
  if (!about.empty()) out += " " + sanitize(about, 300);
  if (auto fallback = property.find("default"); fallback != property.end())
    out += fmt::format(" [{}]",
                       sanitize(fallback->is_string() ? fallback->get<std::string>() : fallback->dump(), 60));
  return out + ": ";
}

std::string questions_text(const json& requests) {
  std::string out;
  for (auto it = requests.begin(); it != requests.end(); ++it) {
    if (!it->is_object()) continue;
    const std::string message = text_of(member_object(*it, "params"), "message");
    out += (out.empty() ? "" : "; ") + sanitize(message.empty() ? text_of(*it, "method") : message, 300);
  }
  return out;
}

TerminalQuestions::TerminalQuestions(Interrupts& interrupts, const CommandContext& around)
    : interrupts_(interrupts), around_(around) {
  // A separate descriptor: stdin may be a file of arguments. Unless stderr is a terminal, the user would not
  // see the question.
  if (around.err_is_terminal()) terminal_ = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
}

TerminalQuestions::~TerminalQuestions() {
  if (terminal_ >= 0) close(terminal_);
}

TerminalQuestions::ReadEnd TerminalQuestions::read_line(std::string& line) {
  line.clear();
  around_.err.flush();
  for (;;) {
    std::array<pollfd, 2> watched{{{terminal_, POLLIN, 0}, {interrupts_.fd(), POLLIN, 0}}};
    if (poll(watched.data(), watched.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return ReadEnd::end;
    }
    if (watched[1].revents != 0) return ReadEnd::interrupt;
    std::array<char, 4096> bytes;
    const ssize_t n = read(terminal_, bytes.data(), bytes.size());
    if (n <= 0) return ReadEnd::end;
    line.append(bytes.data(), static_cast<size_t>(n));
    if (line.size() > kMaxTyped) return ReadEnd::end;
    if (line.back() != '\n') continue;
    line.pop_back();
    return ReadEnd::line;
  }
}

std::optional<json> TerminalQuestions::field(const std::string& name, const json& property,
                                             const json& schema, bool required) {
  for (;;) {
    around_.err << field_prompt(name, property, required);
    std::string line;
    switch (read_line(line)) {
      case ReadEnd::interrupt: return std::nullopt;
      case ReadEnd::end: refused_ = true; return json();
      case ReadEnd::line: break;
    }
    if (line.empty()) {
      if (auto fallback = property.find("default"); fallback != property.end()) return json(*fallback);
      if (!required) return json();
      continue;
    }
    auto value = field_value(property, schema, line);
    if (value) return *value;
    around_.err << "    " << value.error().text << "\n";
  }
}

std::optional<json> TerminalQuestions::fill_in(const json& schema) {
  json content = json::object();
  for (const std::string& name : mcp_client::property_names(schema, kMaxFields)) {
    auto value =
        field(name, mcp_client::property(schema, name), schema, mcp_client::is_required(schema, name));
    if (!value || refused_) return value;
    if (!value->is_null()) content[name] = std::move(*value);
  }
  return content;
}

std::optional<json> TerminalQuestions::answer_one(const json& request) {
  if (!can_ask() || text_of(request, "method") != "elicitation/create") return said("cancel");
  const json& params = member_object(request, "params");
  around_.err << "\nthe server asks: " << sanitize(text_of(params, "message"), 2000) << "\n";
  const bool visit = text_of(params, "mode") == "url";
  const json& schema = member_object(params, "requestedSchema");
  if (visit || member_object(schema, "properties").empty()) {
    if (visit) around_.err << "  open    " << sanitize(text_of(params, "url"), 2000) << "\n";
    around_.err << (visit ? "  Done, or to be gone on with? [y/N] " : "  [y/N] ");
    std::string line;
    const ReadEnd heard = read_line(line);
    if (heard == ReadEnd::interrupt) return std::nullopt;
    const bool yes = line == "y" || line == "Y" || line == "yes";
    json out = said(yes ? "accept" : "decline");
    if (yes && !visit) out["content"] = json::object();
    return out;
  }
  around_.err << "  (Ctrl-D declines, Ctrl-C cancels the call)\n";
  refused_ = false;
  auto content = fill_in(schema);
  if (!content) return std::nullopt;
  if (refused_) {
    around_.err << "\n";
    return said("decline");
  }
  json out = said("accept");
  out["content"] = std::move(*content);
  return out;
}

std::optional<json> TerminalQuestions::answer(const json& requests) {
  json out = json::object();
  for (auto it = requests.begin(); it != requests.end(); ++it) {
    std::optional<json> one(std::in_place, said("cancel"));
    if (it->is_object()) one = answer_one(*it);
    if (!one) return std::nullopt;
    out[it.key()] = std::move(*one);
  }
  return out;
}

}  // namespace lineward::cli
