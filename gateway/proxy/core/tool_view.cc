#include "proxy/core/tool_view.h"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "config/tools_view.h"
#include "foundation/json/json_at.h"
#include "foundation/json/json_splice.h"
#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/tool_schema.h"

namespace lineward::core {
namespace {

using json::Span;
using mcp::Field;
using mcp::Method;

constexpr std::string_view kUnknownTool = "Unknown tool: ";
constexpr size_t kMaxNameShown = 128;

// The place of a completion's reference by name; empty: it names a prompt or nothing. Unknown types may name
// a tool. Duplicate keys are refused before (protocol/mcp/targets.h).
Span named_reference(const mcp::Message& request) {
  const std::string& text = request.bytes();
  const Span reference = json::member_at(text, request.at(Field::params), "ref");
  const std::string type = json::string_at(text, json::member_at(text, reference, "type"));
  if (type == "ref/prompt" || type == "ref/resource") return {};
  return json::member_at(text, reference, "name");
}

Span place_of_name(Method method, const mcp::Message& request) {
  if (method == Method::tools_call) return request.at(Field::params_name);
  return method == Method::completion_complete ? named_reference(request) : Span{};
}

// The parts of a definition that a view reads, by their places in the message.
struct Definition {
  Span whole;
  std::string name;
  Span name_at, title, description, schema, annotations;
  bool is_ambiguous = false;  // it has one of them twice: some readers take the first, others the last
};

Definition read_definition(const std::string& text, Span whole) {
  Definition out;
  out.whole = whole;
  const auto note = [&](Span& part, Span value) {
    out.is_ambiguous = out.is_ambiguous || part;
    part = value;
  };
  json::for_each_member_at(text, whole, [&](const std::string& key, Span, Span value) {
    if (key == "name") note(out.name_at, value);
    if (key == "title") note(out.title, value);
    if (key == "description") note(out.description, value);
    if (key == "inputSchema") note(out.schema, value);
    if (key == "annotations") note(out.annotations, value);
  });
  out.name = json::string_at(text, out.name_at);
  return out;
}

class ListEdit {
 public:
  ListEdit(const config::Server& server, mcp::Message& list)
      : server_(server), view_(server.tools), list_(list), text_(list.bytes()), splice_(list.splice()) {}

  void apply() {
    json::for_each_element_at(text_, list_.at(Field::result_tools),
                              [&](Span element) { all_.push_back(read_definition(text_, element)); });
    if (view_.only != config::ToolsOnly::all) judge();
    std::vector<bool> kept;
    kept.reserve(all_.size());
    for (const Definition& tool : all_) {
      kept.push_back(is_shown(tool));
      if (kept.back()) edit(tool);
    }
    remove_others(kept);
    if (splice_.empty()) return;
    if (auto changed = mcp::Message::parse(splice_.apply_outlined(), json::kDepthCeiling)) {
      list_ = std::move(*changed);
      return;
    }
    // Should not happen; an empty list is safer than one without the view.
    auto none = mcp::Message::parse(
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"tools":[]}}}})", list_.raw(Field::id)));
    if (none) list_ = std::move(*none);
  }

 private:
  // A name that is listed several times is not allowed: a call could mean either tool.
  void judge() {
    for (const Definition& tool : all_) {
      const bool allowed =
          !tool.is_ambiguous && is_allowed(view_.only, mcp::ToolHints::of(tool.whole.in(text_)));
      const auto [known, is_first] = allowed_.emplace(tool.name, allowed);
      if (!is_first) known->second = false;
    }
  }

  bool is_shown(const Definition& tool) {
    if (view_.only != config::ToolsOnly::all && !allowed_[tool.name]) return false;
    const bool taken = config::is_name_taken(view_, tool.name);
    if (!taken && !tool.is_ambiguous) return true;
    log::write(log::Level::warn, "tool.left_out",
               {{"upstream", server_.name},
                {"tool", log::Excerpt(tool.name, kMaxNameShown)},
                {"why", taken ? "another tool has its name (tools.overrides)"
                              : "a key stands twice in its definition"}});
    return false;
  }

  void edit(const Definition& tool) {
    if (text_[tool.whole.begin] != '{') return;
    const config::ShownTool* shown = config::find_shown(view_, tool.name);
    if (shown != nullptr) show(tool, *shown);
    if (view_.schema == config::ToolSchema::repaired) repair(tool);
  }

  void show(const Definition& tool, const config::ShownTool& shown) {
    if (shown.name) splice_.replace(tool.name_at, json::quote(*shown.name));
    if (shown.description) set(tool, tool.description, "description", *shown.description);
    if (!shown.title) return;
    set(tool, tool.title, "title", *shown.title);
    // Clients of older revisions show this one.
    if (!tool.annotations) return;
    json::for_each_member_at(text_, tool.annotations, [&](const std::string& key, Span, Span value) {
      if (key == "title") splice_.replace(value, json::quote(*shown.title));
    });
  }

  void set(const Definition& tool, Span value, std::string_view key, const std::string& text) {
    if (value) return splice_.replace(value, json::quote(text));
    splice_.add_member(tool.whole, key, json::quote(text));
  }

  void repair(const Definition& tool) {
    if (!tool.schema) return splice_.add_member(tool.whole, "inputSchema", mcp::kEmptySchema);
    mcp::RepairedSchema repaired = mcp::repaired_schema(tool.schema.in(text_), budget_);
    for (const std::string& note : repaired.notes) {
      log::write(log::Level::info, "tool.schema",
                 {{"upstream", server_.name},
                  {"tool", log::Excerpt(tool.name, kMaxNameShown)},
                  {"why", log::Excerpt(note, 256)}});
    }
    if (repaired.text) splice_.replace(tool.schema, std::move(*repaired.text));
  }

  // Each with the comma that it no longer needs; the white space between the others stays.
  void remove_others(const std::vector<bool>& kept) {
    const Span tools = list_.at(Field::result_tools);
    bool is_first = true;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (kept[i]) {
        is_first = false;
        continue;
      }
      const bool is_last = i + 1 == all_.size();
      Span cut = all_[i].whole;
      if (!is_first) {
        cut.begin = all_[i - 1].whole.end;
      } else if (!is_last) {
        cut.end = all_[i + 1].whole.begin;
      }
      if (cut.begin >= tools.begin) splice_.replace(cut, {});
    }
  }

  const config::Server& server_;
  const config::ToolsView& view_;
  mcp::Message& list_;
  const std::string& text_;
  json::Splice splice_;
  std::vector<Definition> all_;
  std::map<std::string, bool> allowed_;  // ordered: names come from the server
  mcp::SchemaBudget budget_;
};

}  // namespace

bool is_allowed(config::ToolsOnly only, const mcp::ToolHints& hints) {
  switch (only) {
    case config::ToolsOnly::all: return true;
    case config::ToolsOnly::read_only: return hints.read_only();
    case config::ToolsOnly::non_destructive: return hints.non_destructive();
  }
  return false;
}

Failure unknown_tool(std::string_view name) {
  Failure failure{mcp::EndReason::invalid_request,
                  fmt::format("{}{}", kUnknownTool, name.substr(0, kMaxNameShown))};
  failure.code = mcp::kInvalidParams;
  return failure;
}

std::string tool_named_by(Method method, const mcp::Message& request) {
  return json::string_at(request.bytes(), place_of_name(method, request));
}

Naming to_own_name(const config::ToolsView& view, Method method, mcp::Message& request) {
  if (view.shown.empty()) return Naming::same;
  const Span at = place_of_name(method, request);
  if (!json::is_string_at(request.bytes(), at)) return Naming::same;
  const std::string name = json::string_at(request.bytes(), at);
  const auto own = config::own_name(view, name);
  if (!own) return Naming::unknown;
  if (*own == name) return Naming::same;
  json::Splice splice = request.splice();
  splice.replace(at, json::quote(*own));
  auto changed = mcp::Message::parse(splice.apply_outlined(), json::kDepthCeiling);
  if (!changed) return Naming::unknown;  // should not happen
  request = std::move(*changed);
  return Naming::renamed;
}

std::string with_shown_name(const config::ToolsView& view, std::string text) {
  if (text.rfind(kUnknownTool, 0) != 0) return text;
  const config::ShownTool* shown =
      config::find_shown(view, std::string_view(text).substr(kUnknownTool.size()));
  if (shown != nullptr && shown->name) text = std::string(kUnknownTool) + *shown->name;
  return text;
}

void show_tools(const config::Server& server, mcp::Message& list) {
  if (server.tools.is_empty() || list.kind() != mcp::MessageKind::result) return;
  ListEdit(server, list).apply();
}

}  // namespace lineward::core
