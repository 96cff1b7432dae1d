#include "operate/cli/tool_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/options/names.h"
#include "config/options/read_value.h"
#include "foundation/log/sanitize.h"
#include "operate/cli/cells.h"
#include "operate/cli/json_fields.h"
#include "operate/mcp_client/arguments.h"
#include "protocol/mcp/end_reason.h"

namespace lineward::cli {
namespace {

using nlohmann::json;

constexpr size_t kBarColumns = 20;
constexpr size_t kMaxServer = 100, kMaxWhy = 300;  // of a server with missing tools
constexpr size_t kMostArguments = 64;              // shown of one tool

std::string first_line(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  return sanitize(text.substr(begin, text.find_first_of("\r\n", begin) - begin), 300);
}

const json& object_of(const json& holder, const char* key) {
  static const json empty = json::object();
  auto found = holder.find(key);
  return found != holder.end() && found->is_object() ? *found : empty;
}

std::string hints_of(const json& tool) {
  const json& hints = object_of(tool, "annotations");
  std::string out;
  auto add = [&](const char* key, bool wanted, const char* word) {
    auto found = hints.find(key);
    if (found == hints.end() || !found->is_boolean() || found->get<bool>() != wanted) return;
    out += (out.empty() ? "" : ", ") + std::string(word);
  };
  add("readOnlyHint", true, "reads only");
  add("destructiveHint", true, "may destroy");
  add("idempotentHint", true, "may be repeated");
  add("openWorldHint", true, "reaches outside");
  return out;
}

struct Row {
  std::string name, type, about;
};

std::vector<Row> arguments_of(const json& tool) {
  std::vector<Row> rows;
  const json& schema = object_of(tool, "inputSchema");
  for (const std::string& name : mcp_client::property_names(schema, kMostArguments)) {
    const json& one = mcp_client::property(schema, name);
    std::string about = mcp_client::is_required(schema, name) ? "required" : "";
    auto add = [&](const std::string& words) {
      if (!words.empty()) about += (about.empty() ? "" : "; ") + words;
    };
    add(first_line(text_of(one, "description")));
    if (auto fallback = one.find("default"); fallback != one.end())
      add("default " + sanitize(fallback->dump(-1, ' ', false, json::error_handler_t::replace), 60));
    rows.push_back({sanitize(name, 60), sanitize(mcp_client::type_words(one, schema), 60), about});
  }
  return rows;
}

std::string tool_text(const json& tool, const Style& style) {
  const std::string name = sanitize(text_of(tool, "name"), 128);
  std::string about = first_line(text_of(tool, "description"));
  std::string title = first_line(text_of(tool, "title"));
  if (title.empty()) title = first_line(text_of(object_of(tool, "annotations"), "title"));
  if (about.empty()) about = std::exchange(title, {});
  const std::string head = cut(about.empty() ? name : name + "  " + about, style.width);
  std::string out = paint(head.substr(0, name.size()), "1", style.colour) +
                    head.substr(std::min(head.size(), name.size())) + "\n";
  const std::vector<Row> rows = arguments_of(tool);
  size_t names = 0, types = 0;
  for (const Row& row : rows) {
    names = std::max(names, width_of(row.name));
    types = std::max(types, width_of(row.type));
  }
  // A long list of choices must not push other columns off the screen.
  names = std::min<size_t>(names, 24);
  types = std::min<size_t>(types, 24);
  auto padded = [](const std::string& text, size_t to) {
    const size_t width = width_of(text);
    return text + std::string(width < to ? to - width : 0, ' ');
  };
  for (const Row& row : rows) {
    std::string line = "    " + padded(row.name, names) + "  " + padded(row.type, types) + "  " + row.about;
    line.erase(line.find_last_not_of(' ') + 1);
    out += cut(line, style.width) + "\n";
  }
  if (const std::string hints = hints_of(tool); !hints.empty())
    out += paint(cut("    " + hints, style.width), "2", style.colour) + "\n";
  return out;
}

std::string plain_number(double number) {
  return fmt::format("{:.6g}", number);
}

}  // namespace

std::string tools_text(const json& tools, const Style& style) {
  std::string out;
  for (const json& tool : tools)
    out += (out.empty() ? "" : "\n") + tool_text(tool, style);
  return out;
}

const json* find_tool(const json& tools, const std::string& name) {
  auto found = std::find_if(tools.begin(), tools.end(),
                            [&](const json& tool) { return text_of(tool, "name") == name; });
  return found == tools.end() ? nullptr : &*found;
}

std::string no_such_tool(const json& tools, const std::string& name) {
  std::vector<std::string_view> names;
  for (const json& tool : tools)
    names.push_back(tool["name"].get_ref<const std::string&>());
  const std::string_view likely = config::nearest(name, names);
  return fmt::format(
      "there is no tool '{}'{}", config::clip(name),
      likely.empty() ? std::string() : fmt::format("; did you mean '{}'?", config::clip(likely)));
}

std::string missing_notes(const std::vector<mcp_client::MissingPart>& missing) {
  std::string out;
  for (const mcp_client::MissingPart& one : missing)
    out += fmt::format("note: tools of {} are missing{}{}\n", sanitize(one.server, kMaxServer),
                       one.why.empty() ? "" : ": ", sanitize(one.why, kMaxWhy));
  return out;
}

std::string progress_bar(const json& progress, std::chrono::milliseconds elapsed, size_t width) {
  std::string out;
  auto done = progress.find("progress"), all = progress.find("total");
  const bool counted = done != progress.end() && done->is_number();
  const bool bounded = counted && all != progress.end() && all->is_number() && all->get<double>() > 0;
  if (bounded) {
    const double part = std::clamp(done->get<double>() / all->get<double>(), 0.0, 1.0);
    const auto full = static_cast<size_t>(part * kBarColumns);
    out = "[" + std::string(full, '#') + std::string(kBarColumns - full, '-') + "] " +
          plain_number(done->get<double>()) + "/" + plain_number(all->get<double>());
  } else if (counted) {
    out = plain_number(done->get<double>());
  }
  const std::string message = sanitize(text_of(progress, "message"), 120);
  for (const std::string& part : {message, short_time(elapsed.count())}) {
    if (!part.empty()) out += (out.empty() ? "" : "  ") + part;
  }
  return cut(out, width);
}

ErrorReport fault_of(const json& error) {
  ErrorReport fault;
  fault.message = sanitize(text_of(error, "message"), 1000);
  if (fault.message.empty())
    fault.message = fmt::format("error {} without a message", number_of(error, "code"));
  const json& said = object_of(object_of(error, "data"), "io.lineward/gateway");
  fault.reason = sanitize(text_of(said, "reason"), 40);
  fault.server = sanitize(text_of(said, "upstream"), 80);
  fault.call_id = sanitize(text_of(said, "callId"), 40);
  if (const mcp::EndReasonRow* row = mcp::end_reason(fault.reason)) {
    if (row->kind == mcp::EndKind::timeout) fault.exit = ExitCode::timed_out;
    if (mcp::has(row->reason, mcp::kExitUnavailable)) fault.exit = ExitCode::unavailable;
    fault.fix = row->advice;
  }
  return fault;
}

ResultParts parts_of(const json& result) {
  ResultParts parts;
  auto failed = result.find("isError");
  parts.is_error = failed != result.end() && failed->is_boolean() && failed->get<bool>();
  auto say = [&](std::string text) {
    if (text.empty() || text.back() != '\n') text += '\n';
    parts.text += text;
  };
  auto content = result.find("content");
  const json none = json::array();
  for (const json& one : content != result.end() && content->is_array() ? *content : none) {
    if (!one.is_object()) continue;
    const std::string type = text_of(one, "type");
    if (type == "text") {
      say(text_of(one, "text"));
    } else if (type == "image" || type == "audio") {
      parts.attachments.push_back({type, text_of(one, "mimeType"), text_of(one, "data"), {}});
    } else if (type == "resource") {
      const json& resource = object_of(one, "resource");
      if (resource.contains("blob")) {
        parts.attachments.push_back(
            {type, text_of(resource, "mimeType"), text_of(resource, "blob"), text_of(resource, "uri")});
      } else {
        say(text_of(resource, "text"));
      }
    } else if (type == "resource_link") {
      const std::string name = text_of(one, "name");
      say(name.empty() ? text_of(one, "uri") : fmt::format("{}  {}", name, text_of(one, "uri")));
    } else {
      parts.notes.push_back(
          fmt::format("a part of type '{}' is not shown; --format json has it", config::clip(type)));
    }
  }
  auto structured = result.find("structuredContent");
  if (parts.text.empty() && structured != result.end())
    say(structured->dump(2, ' ', false, json::error_handler_t::replace));
  return parts;
}

std::string extension_of(const std::string& mime) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kKnown{{
      {"image/png", "png"},
      {"image/jpeg", "jpg"},
      {"image/gif", "gif"},
      {"image/webp", "webp"},
      {"image/svg+xml", "svg"},
      {"audio/wav", "wav"},
      {"audio/x-wav", "wav"},
      {"audio/mpeg", "mp3"},
      {"audio/ogg", "ogg"},
      {"application/pdf", "pdf"},
      {"application/json", "json"},
      {"application/zip", "zip"},
      {"application/gzip", "gz"},
      {"text/plain", "txt"},
  }};
  for (const auto& [known, extension] : kKnown) {
    if (mime == known) return std::string(extension);
  }
  return "bin";
}

std::string file_stem(const std::string& name) {
  std::string out;
  for (char c : name) {
    if (out.size() == 60) break;
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    out += plain && !(out.empty() && c == '.') ? c : '_';
  }
  return out.empty() ? "result" : out;
}

}  // namespace lineward::cli
