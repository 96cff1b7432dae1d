#include "proxy/upstream/layers/tool_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "foundation/json/json_member.h"
#include "foundation/json/json_splice.h"
#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"

namespace lineward::upstream {
namespace {

using mcp::Field;
using std::chrono::milliseconds;

// A dropped view costs its callers a list before each call: the limits allow for all callers that alternate
// on one server.
constexpr size_t kMaxViews = 4096;
constexpr size_t kMaxBytes = 32 << 20;
// The shortest time that a list decides which tools are in a view, whatever ttlMs the server sends. Without
// ttlMs: the longest.
constexpr milliseconds kLeastFresh{10000};

// The raw array of a page, with its position in the message.
std::optional<std::string_view> tools_of(const mcp::Message& page) {
  const std::string_view tools = page.raw(Field::result_tools);
  if (tools.empty() || tools.front() != '[') return std::nullopt;
  return tools;
}

template <class F>
void for_each_tool(std::string_view tools, F&& visit) {
  json::Cursor cursor(tools);
  if (!cursor.at_array() || !cursor.enter_array()) return;
  json::Span element;
  while (cursor.next_element() && cursor.skip(element))
    visit(element.in(tools));
}

size_t bytes_of(const std::string& name, const ToolFacts& facts) {
  size_t bytes = sizeof(ToolFacts) + name.size() + facts.fault.size();
  for (const mcp::ParamHeader& param : facts.params) {
    bytes += sizeof param + param.header.size();
    for (const std::string& step : param.path)
      bytes += sizeof step + step.size();
  }
  return bytes;
}

ToolFacts facts_of(std::string_view tool) {
  ToolFacts facts;
  json::for_each_member(tool, [&](const std::string& key, std::string_view value) {
    if (key == "inputSchema") {
      auto params = mcp::read_param_headers(value);
      if (params) {
        facts.params = std::move(*params);
      } else {
        facts.fault = params.error().text;
      }
    } else if (key == "annotations") {
      facts.repeatable =
          json::member(value, "readOnlyHint") == "true" || json::member(value, "idempotentHint") == "true";
    }
  });
  return facts;
}

milliseconds freshness_of(const mcp::Message& page) {
  const std::string_view raw = page.raw(Field::result_ttl_ms);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  const bool whole = !raw.empty() && error == std::errc() && end == raw.data() + raw.size();
  return whole ? std::clamp(milliseconds(value), kLeastFresh, ToolCatalog::kMostFresh)
               : ToolCatalog::kMostFresh;
}

// Without its tools: the view outlives its callers, and is then charged to none of them.
size_t own_bytes(const ToolView& view) {
  return sizeof(ToolView) + view.key.size();
}

}  // namespace

ToolView& ToolCatalog::view(const std::string& key) {
  if (auto found = by_key_.find(key); found != by_key_.end()) {
    views_.splice(views_.begin(), views_, found->second);
    return views_.front();
  }
  ToolView& view = views_.emplace_front();
  view.key = key;
  view.number = ++numbers_;
  by_key_.emplace(view.key, views_.begin());
  bytes_ += own_bytes(view);
  make_room(view);
  return view;
}

void ToolCatalog::count(ToolView& view, size_t bytes) {
  bytes_ = bytes_ - view.held.mine() + bytes;
  view.held.set(bytes);
}

// Views with a pause stay: without it each call would wait for a list that hangs.
void ToolCatalog::make_room(const ToolView& current) {
  while (views_.size() > 1 && (views_.size() > kMaxViews || bytes_ > kMaxBytes)) {
    auto drop = std::find_if(views_.rbegin(), views_.rend(), [&](const ToolView& view) {
      return &view != &current && view.pause.waits == 0;
    });
    if (drop == views_.rend()) {
      drop = std::find_if(views_.rbegin(), views_.rend(),
                          [&](const ToolView& view) { return &view != &current; });
    }
    bytes_ -= own_bytes(*drop) + drop->held.mine();
    by_key_.erase(drop->key);
    views_.erase(std::prev(drop.base()));
  }
}

bool ToolCatalog::read(ToolView& view, const mcp::Message& page, ViewReading* for_view) {
  auto tools = tools_of(page);
  if (!tools) return false;
  milliseconds fresh_until{0};
  if (for_view != nullptr) {
    fresh_until = for_view->now + freshness_of(page);
    for_view->fresh_until = std::min(for_view->fresh_until, fresh_until);
  }
  // Most servers' tools have none of these properties.
  bool silent = tools->find("x-mcp-header") == std::string_view::npos &&
                tools->find("Hint") == std::string_view::npos && tools->find("\\u") == std::string_view::npos;
  if (silent && view.tools.empty()) return false;
  bool invalid = false;
  for_each_tool(*tools, [&](std::string_view tool) {
    std::string name = json::string_value(json::member(tool, "name"));
    if (name.size() > kMaxNameBytes) view.is_cut = true;
    if (name.empty() || name.size() > kMaxNameBytes) return;
    ToolFacts facts = silent ? ToolFacts{} : facts_of(tool);
    invalid = invalid || !facts.fault.empty();
    if (for_view != nullptr && for_view->names.size() < kMaxTools) {
      if (for_view->names.insert(name)) facts.hints = mcp::ToolHints::of(tool);
      facts.changes = for_view->changes;
      facts.fresh_until = fresh_until;
    } else if (for_view != nullptr) {
      view.is_cut = true;
    }
    keep(view, name, std::move(facts));
  });
  make_room(view);
  return invalid;
}

void ToolCatalog::keep(ToolView& view, const std::string& name, ToolFacts facts) {
  bool matters =
      !facts.params.empty() || facts.repeatable || !facts.fault.empty() || facts.hints.non_destructive();
  auto known = view.tools.find(name);
  const size_t before = known != view.tools.end() ? bytes_of(name, known->second) : 0;
  if (!matters) {
    count(view, view.held.mine() - before);
    if (known != view.tools.end()) view.tools.erase(known);
    return;
  }
  if (known == view.tools.end() && view.tools.size() >= kMaxTools) {
    view.is_cut = true;
    return;
  }
  if (!facts.fault.empty() && (known == view.tools.end() || known->second.fault != facts.fault)) {
    log::write(log::Level::warn, "tool.invalid",
               {{"upstream", upstream_}, {"tool", log::Excerpt(name, 128)}, {"why", facts.fault}});
  }
  count(view, view.held.mine() - before + bytes_of(name, facts));
  view.tools[name] = std::move(facts);
}

std::string ToolCatalog::without_invalid(const ToolView& view, const mcp::Message& page) {
  auto tools = tools_of(page);
  if (!tools) return page.bytes();
  std::string kept;
  for_each_tool(*tools, [&](std::string_view tool) {
    const ToolFacts* facts = view.find(json::string_value(json::member(tool, "name")));
    if (facts != nullptr && !facts->fault.empty()) return;
    kept += (kept.empty() ? "" : ",") + std::string(tool);
  });
  auto begin = static_cast<uint32_t>(tools->data() - page.bytes().data());
  json::Splice splice = page.splice();
  splice.replace({begin, begin + static_cast<uint32_t>(tools->size())}, "[" + kept + "]");
  return splice.apply();
}

void ToolCatalog::changed() {
  ++changes_;
  for (ToolView& view : views_)
    view.known = false;
}

std::string tools_list_request(const mcp::Message& like, bool modern, std::string_view cursor) {
  std::string params;
  auto add = [](std::string& to, std::string_view key, std::string_view raw) {
    if (!raw.empty()) to += fmt::format("{}\"{}\":{}", to.empty() ? "" : ",", key, raw);
  };
  if (modern) {
    std::string meta;
    add(meta, "io.modelcontextprotocol/protocolVersion", like.raw(Field::meta_protocol_version));
    add(meta, "io.modelcontextprotocol/clientInfo", like.raw(Field::meta_client_info));
    add(meta, "io.modelcontextprotocol/clientCapabilities", like.raw(Field::meta_client_capabilities));
    add(params, "_meta", "{" + meta + "}");
  }
  add(params, "cursor", cursor);
  return fmt::format(R"({{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{{{}}}}})", params);
}

}  // namespace lineward::upstream
