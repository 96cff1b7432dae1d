#include "protocol/mcp/listen_filter.h"

#include "foundation/json/json_at.h"
#include "foundation/json/json_splice.h"
#include "protocol/mcp/methods.h"

namespace lineward::mcp {
namespace {

constexpr std::string_view kTools = "toolsListChanged";
constexpr std::string_view kPrompts = "promptsListChanged";
constexpr std::string_view kResources = "resourcesListChanged";
constexpr std::string_view kUris = "resourceSubscriptions";
constexpr std::string_view kTasks = "taskIds";

bool is_list(std::string_view key) {
  return key == kTools || key == kPrompts || key == kResources;
}

json::Span whole(std::string_view text) {
  return {0, static_cast<uint32_t>(text.size())};
}

void add_strings(CountedStringSet& to, std::string_view text, json::Span array, const AccountPtr& whose) {
  json::for_each_element_at(text, array, [&](json::Span element) {
    if (json::is_string_at(text, element)) to.insert(json::string_at(text, element), whose);
  });
}

// The array without elements that are not in `kept`; empty when nothing was cut.
std::optional<std::string> cut_array(std::string_view text, json::Span array, const CountedStringSet& kept) {
  std::string out;
  bool cut = false;
  json::for_each_element_at(text, array, [&](json::Span element) {
    if (json::is_string_at(text, element) && kept.contains(json::string_at(text, element))) {
      out += out.empty() ? "" : ",";
      out += element.in(text);
    } else {
      cut = true;
    }
  });
  return cut ? std::optional("[" + out + "]") : std::nullopt;
}

}  // namespace

ListenFilter::ListenFilter(std::string_view text, const AccountPtr& whose) {
  json::for_each_member_at(text, whole(text), [&](const std::string& key, json::Span, json::Span value) {
    if (is_list(key)) {
      if (value.in(text) == "true") lists_.insert(key);
    } else if (key == kUris) {
      add_strings(uris_, text, value, whose);
    } else if (key == kTasks) {
      add_strings(tasks_, text, value, whose);
    } else {
      others_.insert(key, whose);
    }
  });
}

bool ListenFilter::passes(const Message& notification) const {
  auto names = [](const CountedStringSet& all, std::string_view one) { return all.contains(one); };
  switch (method_of(notification.method())) {
    case Method::tools_list_changed: return names(lists_, kTools);
    case Method::prompts_list_changed: return names(lists_, kPrompts);
    case Method::resources_list_changed: return names(lists_, kResources);
    case Method::resources_updated: return names(uris_, notification.text(Field::params_uri));
    default: break;
  }
  bool of_task = notification.method().rfind("notifications/tasks", 0) == 0;
  if (of_task && notification.has(Field::params_task_id))
    return names(tasks_, notification.text(Field::params_task_id));
  if (of_task) return !tasks_.empty();
  // Only the server knows the kind of an extension's notification.
  return !others_.empty();
}

std::optional<std::string> ListenFilter::cut(std::string_view text) const {
  std::string out;
  bool cut = false;
  json::for_each_member_at(text, whole(text), [&](const std::string& key, json::Span at, json::Span value) {
    std::string kept(value.in(text));
    bool list = is_list(key);
    bool named = list ? lists_.contains(key) : key == kUris || key == kTasks || others_.contains(key);
    if (key == kUris || key == kTasks) {
      auto rest = cut_array(text, value, key == kUris ? uris_ : tasks_);
      cut = cut || rest.has_value();
      named = !rest || *rest != "[]";
      if (rest) kept = std::move(*rest);
    }
    if (!named) {
      cut = cut || !list || kept == "true";
      return;
    }
    out += out.empty() ? "\"" : ",\"";
    out += at.in(text);
    out += "\":" + kept;
  });
  return cut ? std::optional("{" + out + "}") : std::nullopt;
}

}  // namespace lineward::mcp
