#include "proxy/aggregate/name_map.h"

#include "protocol/mcp/cache_hints.h"
#include "proxy/aggregate/sealed.h"

namespace lineward::aggregate {
namespace {

using json::Span;
using mcp::Field;
using mcp::Method;

// Finds the URIs of content blocks in one pass, since blocks may nest up to the depth limit. A block's kind
// follows from its `type`, which may come after its content: matches inside are discarded if the type
// excludes them.
class ContentUris {
 public:
  ContentUris(std::string_view text, const json::Outline* outline) : text_(text), outline_(outline) {}

  // `value`: a content block or an array of them.
  void find_content(Span value) { within(value, &ContentUris::content); }
  // The contents of a resource.
  void find_contents(Span value) { within(value, &ContentUris::contents); }
  // An array of messages, of a prompt or of a question.
  void find_messages(Span value) { within(value, &ContentUris::messages); }

  const std::vector<Span>& found() const { return found_; }

 private:
  void within(Span value, void (ContentUris::*walk)()) {
    if (!value) return;
    json::Cursor cursor(value.in(text_), json::kDepthCeiling);
    cursor.go_around(outline_, value.begin);
    cursor_ = &cursor;
    from_ = value.begin;
    (this->*walk)();
    cursor_ = nullptr;
  }
  std::string_view seen() const { return text_.substr(from_); }
  Span whole(Span value) const { return value ? Span{value.begin + from_, value.end + from_} : Span{}; }
  void pass() {
    Span value;
    cursor_->skip(value);
  }

  void content() {
    if (cursor_->at_array()) {
      json::walk_elements(*cursor_, [&] { content(); });
      return;
    }
    if (!cursor_->at_object()) return pass();
    const size_t before = found_.size();
    std::optional<std::string> type;
    Span uri, resource_uri;
    bool has_uri = false, has_resource = false, has_content = false;
    json::walk_members(*cursor_, seen(), [&](std::string_view key, Span) {
      if (key == "type" && !type) {
        type = json::walk_string(*cursor_, seen());
      } else if (key == "uri" && !has_uri) {
        has_uri = cursor_->skip(uri);
      } else if (key == "resource" && !has_resource) {
        has_resource = true;
        resource_uri = first_uri();
      } else if (key == "content" && !has_content) {
        has_content = true;
        content();
      } else {
        pass();
      }
    });
    // A tool's result within a prompt or a sampling message has content blocks of its own.
    if (type != "tool_result") found_.resize(before);
    if (type == "resource_link") add(uri);
    if (type == "resource") add(resource_uri);
  }

  Span first_uri() {
    Span uri;
    bool there = false;
    if (!cursor_->at_object()) {
      pass();
      return uri;
    }
    json::walk_members(*cursor_, seen(), [&](std::string_view key, Span) {
      if (key != "uri" || there) return pass();
      there = cursor_->skip(uri);
    });
    return uri;
  }

  void contents() {
    if (!cursor_->at_array()) return;
    json::walk_elements(*cursor_, [&] { add(first_uri()); });
  }

  void messages() {
    if (!cursor_->at_array()) return;
    json::walk_elements(*cursor_, [&] {
      if (!cursor_->at_object()) return pass();
      bool there = false;
      json::walk_members(*cursor_, seen(), [&](std::string_view key, Span) {
        if (key != "content" || there) return pass();
        there = true;
        content();
      });
    });
  }

  void add(Span uri) {
    if (uri) found_.push_back(whole(uri));
  }

  std::string_view text_;
  const json::Outline* outline_;
  json::Cursor* cursor_ = nullptr;  // over the value being walked, which begins at from_
  uint32_t from_ = 0;
  std::vector<Span> found_;
};

// Methods with results in the schema; tasks are in an extension.
bool has_plain_result(Method method) {
  return method == Method::tools_call || method == Method::prompts_get || method == Method::resources_read ||
         method == Method::completion_complete;
}

// Walks one text and collects the edits of its URIs.
class UriEdits {
 public:
  UriEdits(NameMap& shown, const std::string& server, std::string_view text,
           const json::OutlinePtr& outline = nullptr)
      : shown_(shown), server_(server), text_(text), outline_(outline), splice_(text, outline) {}

  // The answer shows this URI as the client sent it.
  void call_as_asked(const Asked& asked) {
    asked_own_ = asked.own_uri;
    asked_seen_ = asked.seen_uri;
  }
  void uri(Span value) {
    if (!json::is_string_at(text_, value)) return;
    std::string own = json::string_at(text_, value);
    std::string seen = own == asked_own_ && !own.empty() ? asked_seen_ : shown_.uris.to_client(server_, own);
    if (seen != own) splice_.replace(value, json::quote(seen));
  }
  // The user interface links in a tool's `_meta` (MCP Apps, and its older spellings).
  void ui_meta(Span meta) {
    json::for_each_member_at(text_, meta, [&](const std::string& key, Span, Span value) {
      if (key == "ui/resourceUri" || key == "openai/outputTemplate") uri(value);
      if (key == "ui") uri(json::member_at(text_, value, "resourceUri"));
    });
  }
  // A content block, or an array of them.
  void content(Span value) { uris(value, &ContentUris::find_content); }
  void contents(Span value) { uris(value, &ContentUris::find_contents); }
  void messages(Span value) { uris(value, &ContentUris::find_messages); }
  // For the tasks extension: at the top of a result or of params, or within `task`.
  void task_id(Span id) {
    if (json::is_string_at(text_, id)) splice_.replace(id, seal_task(server_, id.in(text_)));
  }
  json::Splice& splice() { return splice_; }
  // Empty: nothing was changed.
  std::optional<json::Text> applied() {
    if (splice_.empty()) return std::nullopt;
    return splice_.apply_outlined();
  }
  std::string apply() { return splice_.empty() ? std::string(text_) : splice_.apply(); }

 private:
  void uris(Span value, void (ContentUris::*find)(Span)) {
    ContentUris found(text_, outline_.get());
    (found.*find)(value);
    for (Span one : found.found())
      uri(one);
  }

  NameMap& shown_;
  const std::string& server_;
  std::string_view text_;
  std::string asked_own_, asked_seen_;
  json::OutlinePtr outline_;
  json::Splice splice_;
};

// Adds members that 2026-07-28 requires and the server omitted, with the values of a merged list.
void add_demanded(json::Splice& splice, const mcp::Message& answer, Method method) {
  const bool is_complete = !answer.has(Field::result_type) || answer.text(Field::result_type) == "complete";
  if (!is_complete || !answer.is_object(Field::result) || !has_plain_result(method)) return;
  const auto add = [&](Field field, std::string_view name, std::string_view value) {
    if (!answer.has(field)) splice.add_member(answer.at(Field::result), name, value);
  };
  add(Field::result_type, "resultType", R"("complete")");
  if (!mcp::has_cache_hints(method)) return;
  add(Field::result_ttl_ms, "ttlMs", "0");
  add(Field::result_cache_scope, "cacheScope", R"("private")");
}

Span ref_target(const mcp::Message& request) {
  const std::string& text = request.bytes();
  Span ref = json::member_at(text, request.at(Field::params), "ref");
  std::string type = json::string_at(text, json::member_at(text, ref, "type"));
  return json::member_at(text, ref, type == "ref/resource" ? "uri" : "name");
}

bool is_resource_ref(const mcp::Message& request) {
  const std::string& text = request.bytes();
  Span ref = json::member_at(text, request.at(Field::params), "ref");
  return json::string_at(text, json::member_at(text, ref, "type")) == "ref/resource";
}

Routed by_name(const Names& names, const std::string& name, const std::vector<std::string>& servers,
               bool lists_read) {
  Routed out;
  if (!lists_read && names.needs_lists(name)) return {Fault::needs_lists, {}};
  auto target = names.to_server(name, servers);
  if (!target) return {Fault::unknown, {}};
  out.route = {target->server, json::quote(target->name)};
  return out;
}

Routed by_uri(const Uris& uris, const std::string& uri, bool lists_read) {
  Routed out;
  auto target = uris.to_server(uri);
  if (!target) return {keeps_scheme(uri) && !lists_read ? Fault::needs_lists : Fault::unknown, {}};
  out.route = {target->server, json::quote(target->uri)};
  return out;
}

}  // namespace

NameMap::NameMap(const config::Aggregate& rules, std::shared_ptr<SharedNames> shared)
    : sync(std::move(shared), *this),
      tools(rules, kMaxNames, NameKind::tool),
      prompts(rules, kMaxNames, NameKind::prompt),
      uris(kMaxNames, kMaxSeen) {
  tools.owners().share(sync);
  prompts.owners().share(sync);
  uris.share(sync);
}

void NameMap::forget(const std::string& server) {
  NameSync::Adding adding(&sync);
  if (release(server)) adding.added({NameKind::gone, {}, server, {}});  // no other worker has said so
}

bool NameMap::release(const std::string& server) {
  bool knew = tools.owners().forget(server);
  knew |= prompts.owners().forget(server);
  knew |= uris.forget_server(server);
  return knew;
}

void NameMap::take(const NameClaim& claim) {
  if (claim.kind == NameKind::gone) {
    release(claim.server);
    return;
  }
  if (claim.kind == NameKind::tool) return tools.owners().take(claim);
  if (claim.kind == NameKind::prompt) return prompts.owners().take(claim);
  uris.take(claim);
}

std::string claim(NameMap& shown, List list, const std::string& server, const std::string& own) {
  switch (list) {
    case List::tools: return shown.tools.to_client(server, own);
    case List::prompts: return shown.prompts.to_client(server, own);
    case List::resources: return shown.uris.listed(server, own);
    case List::templates: return shown.uris.listed_template(server, own);
    case List::count_: break;
  }
  return {};
}

bool add_for_client(NameMap& shown, List list, const std::string& server, std::string_view text,
                    const ListItem& item, std::string& out) {
  if (!json::is_string_at(text, item.key)) return false;
  const std::string seen = claim(shown, list, server, item.own);
  if (seen.empty()) return false;
  if (!out.empty()) out += ',';
  uint32_t at = item.whole.begin;
  const auto pass = [&](uint32_t to) {
    out.append(text, at, to - at);
    at = to;
  };
  const auto change_key = [&] {
    if (seen == item.own) return;
    pass(item.key.begin);
    json::append_quoted(out, seen);
    at = item.key.end;
  };
  const auto change_meta = [&] {
    if (!item.meta) return;
    pass(item.meta.begin);
    const std::string_view meta = item.meta.in(text);
    UriEdits edits(shown, server, meta);
    edits.ui_meta({0, item.meta.size()});
    out += edits.apply();
    at = item.meta.end;
  };
  if (item.key.begin < item.meta.begin) {
    change_key();
    change_meta();
  } else {
    change_meta();
    change_key();
  }
  pass(item.whole.end);
  return true;
}

std::optional<json::Text> result_for_client(NameMap& shown, const std::string& server,
                                            const mcp::Message& message, const Asked& asked) {
  const std::string& text = message.bytes();
  UriEdits edits(shown, server, text, message.outline());
  edits.call_as_asked(asked);
  if (message.kind() == mcp::MessageKind::error) {
    edits.uri(json::member_at(text, message.at(Field::error_data), "uri"));
    return edits.applied();
  }
  add_demanded(edits.splice(), message, asked.method);
  edits.content(message.at(Field::result_content));
  edits.messages(message.at(Field::result_messages));
  edits.contents(message.at(Field::result_contents));
  edits.ui_meta(message.at(Field::result_meta));
  if (message.has(Field::result_type) && message.text(Field::result_type) == "input_required") {
    const Span questions =
        json::member_at(text, message.at(Field::result), "inputRequests", message.outline().get());
    json::for_each_member_at(text, questions, [&](const std::string&, Span, Span question) {
      edits.messages(json::member_at(text, json::member_at(text, question, "params"), "messages"));
    });
  }
  if (message.is_string(Field::result_request_state))
    edits.splice().replace(message.at(Field::result_request_state),
                           seal_state(server, message.raw(Field::result_request_state)));
  if (message.is_object(Field::result_task))
    edits.task_id(json::member_at(text, message.at(Field::result_task), "taskId", message.outline().get()));
  // A finished task contains the result of its original call.
  edits.content(json::member_at(text, message.at(Field::result_result), "content", message.outline().get()));
  edits.task_id(message.at(Field::result_task_id));
  return edits.applied();
}

std::optional<json::Text> question_for_client(NameMap& shown, const std::string& server,
                                              const mcp::Message& question) {
  const std::string& text = question.bytes();
  UriEdits edits(shown, server, text, question.outline());
  edits.messages(json::member_at(text, question.at(Field::params), "messages", question.outline().get()));
  return edits.applied();
}

std::string notification_for_client(NameMap& shown, const std::string& server, const mcp::Message& message) {
  const std::string& text = message.bytes();
  UriEdits edits(shown, server, text);
  if (mcp::method_of(message.method()) == Method::resources_updated) edits.uri(message.at(Field::params_uri));
  if (message.method().rfind("notifications/tasks", 0) == 0)
    edits.task_id(json::member_at(text, message.at(Field::params), "taskId"));
  return edits.apply();
}

Span target_at(const mcp::Message& request, Method method) {
  switch (method) {
    case Method::tools_call:
    case Method::prompts_get: return request.at(Field::params_name);
    case Method::resources_read: return request.at(Field::params_uri);
    case Method::completion_complete: return ref_target(request);
    case Method::tasks_get:
    case Method::tasks_update:
    case Method::tasks_cancel: return request.at(Field::params_task_id);
    default: return {};
  }
}

Routed route(const NameMap& shown, const mcp::Message& request, Method method,
             const std::vector<std::string>& servers, bool lists_read) {
  const std::string& text = request.bytes();
  Span at = target_at(request, method);
  if (!json::is_string_at(text, at)) return {Fault::unknown, {}};
  std::string target = json::string_at(text, at);
  switch (method) {
    case Method::tools_call: return by_name(shown.tools, target, servers, lists_read);
    case Method::prompts_get: return by_name(shown.prompts, target, servers, lists_read);
    case Method::resources_read: return by_uri(shown.uris, target, lists_read);
    case Method::completion_complete:
      return is_resource_ref(request) ? by_uri(shown.uris, target, lists_read)
                                      : by_name(shown.prompts, target, servers, lists_read);
    default: break;
  }
  auto task = open_task(at.in(text));
  if (!task) return {Fault::forged, {}};
  return {Fault::none, {task->server, task->raw}};
}

std::optional<std::string> request_for_server(const mcp::Message& request, Method method,
                                              const Route& route) {
  json::Splice splice = request.splice();
  Span at = target_at(request, method);
  if (at && !route.raw.empty()) splice.replace(at, route.raw);
  if (request.is_string(Field::params_request_state)) {
    auto state = open_state(request.raw(Field::params_request_state));
    if (!state || state->server != route.server || json::validate(state->raw) != json::Fault::none)
      return std::nullopt;
    splice.replace(request.at(Field::params_request_state), state->raw);
  }
  return splice.empty() ? request.bytes() : splice.apply();
}

}  // namespace lineward::aggregate
