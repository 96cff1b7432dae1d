#include "proxy/aggregate/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <memory>

#include "foundation/base/version.h"
#include "foundation/json/json_at.h"
#include "foundation/json/json_member.h"
#include "foundation/json/json_outline.h"
#include "foundation/log/redaction.h"
#include "protocol/mcp/revision.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::aggregate {
namespace {

using json::for_each_member;
using json::member;
using mcp::Field;

constexpr std::string_view kServerInfo = "io.modelcontextprotocol/serverInfo";
constexpr std::string_view kOwnInfo = LINEWARD_IMPLEMENTATION;

class Object {
 public:
  void add(std::string_view key, std::string_view raw) {
    if (!text_.empty()) text_ += ',';
    text_ += json::quote(key);
    text_ += ':';
    text_ += raw;
  }
  std::string text() const { return "{" + text_ + "}"; }
  const std::string& members() const { return text_; }  // without the braces
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

std::optional<int64_t> integer(std::string_view raw) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  if (raw.empty() || error != std::errc() || end != raw.data() + raw.size() || value < 0) return std::nullopt;
  return value;
}

std::string missing_text(const std::vector<Missing>& missing) {
  std::string out;
  for (const Missing& one : missing) {
    Object object;
    object.add("server", json::quote(one.server));
    object.add("reason", json::quote(one.reason));
    object.add("text", json::quote(std::string_view(redaction::apply(one.text)).substr(0, 300)));
    out += (out.empty() ? "" : ",") + object.text();
  }
  return fmt::format("[{}]", out);
}

std::string_view scope(bool is_public) {
  return is_public ? R"("public")" : R"("private")";
}

// Keys with settings that may differ between servers: one server's value must not be shown for all.
bool holds_settings(std::string_view capability) {
  return capability == "extensions" || capability == "experimental";
}

// Keys in order of arrival, and the values of each.
struct Union {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> values;
  void add(const std::string& key, std::string_view raw) {
    auto& all = values[key];
    if (all.empty()) order.push_back(key);
    all.emplace_back(raw);
  }
};

bool same_json(const std::vector<std::string>& values) {
  std::string first = json::compact(values.front());
  return std::all_of(values.begin(), values.end(),
                     [&](const std::string& one) { return json::compact(one) == first; });
}

Union members_of(const std::vector<std::string>& objects) {
  Union all;
  for (const std::string& object : objects)
    for_each_member(object, [&](const std::string& key, std::string_view raw) { all.add(key, raw); });
  return all;
}

std::string merged_settings(const std::vector<std::string>& objects) {
  Union all = members_of(objects);
  Object out;
  for (const std::string& key : all.order) {
    if (same_json(all.values[key])) out.add(key, all.values[key].front());
  }
  return out.text();
}

// A flag is set if any server sets it; other values are the first server's.
std::string merged_flags(const std::vector<std::string>& objects, bool list_changed) {
  Union all = members_of(objects);
  Object out;
  for (const std::string& key : all.order) {
    if (list_changed && key == "listChanged") continue;
    const auto& values = all.values[key];
    bool some = std::find(values.begin(), values.end(), "true") != values.end();
    out.add(key, some ? "true" : values.front());
  }
  // The aggregate's lists change as servers come and go.
  if (list_changed) out.add("listChanged", "true");
  return out.text();
}

bool is_listed(std::string_view capability) {
  return capability == "tools" || capability == "prompts" || capability == "resources";
}

std::string merged_capabilities(const std::vector<MemberFacts>& servers, bool some_unknown) {
  std::vector<std::string> objects;
  for (const MemberFacts& one : servers)
    objects.push_back(one.capabilities);
  Union all = members_of(objects);
  // A server that does not answer may have anything: its lists may appear later, so they are declared. A
  // legacy session cannot use a capability that was not declared at its beginning. The server's own answer
  // decides.
  if (some_unknown) {
    for (std::string_view list : {"tools", "prompts"})
      all.add(std::string(list), "{}");
    all.add("resources", R"({"subscribe":true})");
    all.add("logging", "{}");
  }
  Object out;
  for (const std::string& key : all.order) {
    std::string value = holds_settings(key) ? merged_settings(all.values[key])
                                            : merged_flags(all.values[key], is_listed(key));
    if (holds_settings(key) && value == "{}") continue;
    out.add(key, value);
  }
  return out.text();
}

std::string merged_instructions(const std::vector<MemberFacts>& servers) {
  std::string out;
  for (const MemberFacts& one : servers) {
    if (one.instructions.size() <= 2) continue;
    out += fmt::format("{}## {}\\n\\n{}", out.empty() ? "" : "\\n\\n", one.server,
                       std::string_view(one.instructions).substr(1, one.instructions.size() - 2));
  }
  return out.empty() ? out : "\"" + out + "\"";
}

std::string common_versions(const std::vector<MemberFacts>& servers) {
  std::string out;
  for (const auto& revision : mcp::kRevisions) {
    if (revision.era != mcp::Era::modern) continue;
    bool all = std::all_of(servers.begin(), servers.end(), [&](const MemberFacts& one) {
      return std::find(one.versions.begin(), one.versions.end(), revision.name) != one.versions.end();
    });
    if (all) out += fmt::format("{}\"{}\"", out.empty() ? "" : ",", revision.name);
  }
  return fmt::format("[{}]", out);
}

}  // namespace

// ---- discover ----

bool MemberFacts::has(std::string_view capability) const {
  return member(capabilities, capability).has_value();
}

bool MemberFacts::has(std::string_view capability, std::string_view flag) const {
  auto object = member(capabilities, capability);
  return object && member(*object, flag) == "true";
}

MemberFacts read_facts(const std::string& server, const mcp::Message& discovered) {
  MemberFacts facts;
  facts.server = server;
  if (discovered.is_object(Field::result_capabilities))
    facts.capabilities = std::string(discovered.raw(Field::result_capabilities));
  if (discovered.is_string(Field::result_instructions))
    facts.instructions = discovered.raw(Field::result_instructions);
  facts.ttl_ms = integer(discovered.raw(Field::result_ttl_ms));
  for (auto& version : mcp::spoken_versions(discovered.raw(Field::result_supported_versions))) {
    const mcp::Revision* revision = mcp::find_revision(version);
    if (revision != nullptr && revision->era == mcp::Era::modern)
      facts.versions.push_back(std::move(version));
  }
  return facts;
}

MemberFacts facts_for_routing(const std::string& server, const mcp::Message& discovered) {
  MemberFacts facts;
  facts.server = server;
  if (!discovered.is_object(Field::result_capabilities)) return facts;
  size_t left = kMaxRoutingBytes;
  const auto fits = [&left](const std::string& key) {
    const size_t bytes = json::quote(key).size() + std::string_view(R"(:false,{})").size();
    const bool there_is_room = bytes <= left;
    if (there_is_room) left -= bytes;
    return there_is_room;
  };
  Object kept;
  for_each_member(discovered.raw(Field::result_capabilities),
                  [&](const std::string& key, std::string_view value) {
                    if (!fits(key)) return;
                    Object inner;
                    for_each_member(value, [&](const std::string& name, std::string_view flag) {
                      if (holds_settings(key) && fits(name)) inner.add(name, "{}");
                      if (!holds_settings(key) && (flag == "true" || flag == "false") && fits(name))
                        inner.add(name, flag);
                    });
                    kept.add(key, inner.text());
                  });
  facts.capabilities = kept.text();
  return facts;
}

MemberFacts united(const MemberFacts& before, MemberFacts now) {
  Union all = members_of({now.capabilities, before.capabilities});
  Object both;
  for (const std::string& key : all.order)
    both.add(key, merged_flags(all.values[key], false));
  if (both.text().size() <= kMaxRoutingBytes) now.capabilities = both.text();
  return now;
}

std::vector<std::string> differing_extensions(const std::vector<MemberFacts>& servers) {
  std::vector<std::string> objects;
  for (const MemberFacts& one : servers) {
    if (auto extensions = member(one.capabilities, "extensions")) objects.emplace_back(*extensions);
  }
  std::vector<std::string> out;
  for (const auto& [key, values] : members_of(objects).values) {
    if (!same_json(values)) out.push_back(key);
  }
  return out;
}

std::string merged_discover(const std::vector<MemberFacts>& servers, const std::vector<Missing>& missing,
                            bool is_public) {
  std::optional<int64_t> ttl;
  bool uncached = !missing.empty();
  for (const MemberFacts& one : servers) {
    uncached = uncached || !one.ttl_ms;
    if (one.ttl_ms) ttl = std::min(ttl.value_or(*one.ttl_ms), *one.ttl_ms);
  }
  Object meta;
  meta.add(kServerInfo, kOwnInfo);
  if (!missing.empty()) meta.add("io.lineward/missing", missing_text(missing));
  std::string differing;
  for (const std::string& name : differing_extensions(servers))
    differing += (differing.empty() ? "" : ",") + json::quote(name);
  if (!differing.empty()) meta.add("io.lineward/differingExtensions", fmt::format("[{}]", differing));
  Object result;
  result.add("resultType", R"("complete")");
  result.add("supportedVersions", common_versions(servers));
  result.add("capabilities", merged_capabilities(servers, !missing.empty()));
  std::string instructions = merged_instructions(servers);
  if (!instructions.empty()) result.add("instructions", instructions);
  result.add("ttlMs", std::to_string(uncached ? 0 : ttl.value_or(0)));
  result.add("cacheScope", scope(is_public));
  result.add("_meta", meta.text());
  return fmt::format(R"({{"jsonrpc":"2.0","id":0,"result":{}}})", result.text());
}

std::vector<std::string> servers_for(std::string_view method, const std::vector<MemberFacts>& servers) {
  auto belongs = [&](std::string_view name) {
    if (method.size() > name.size() && method.substr(0, name.size()) == name && method[name.size()] == '/')
      return true;
    std::string_view last = name.substr(name.rfind('/') + 1);  // the whole name without a slash
    return !last.empty() && method.substr(0, method.find('/')) == last;
  };
  std::vector<std::string> out;
  for (const MemberFacts& one : servers) {
    bool its = false;
    for_each_member(one.capabilities, [&](const std::string& key, std::string_view value) {
      if (!holds_settings(key)) {
        its = its || method.substr(0, method.find('/')) == key;
        return;
      }
      for_each_member(value, [&](const std::string& name, std::string_view) { its = its || belongs(name); });
    });
    if (its) out.push_back(one.server);
  }
  return out;
}

// ---- lists ----

std::string read_page(ListPage& page, const mcp::Message& answer) {
  auto ttl = integer(answer.raw(Field::result_ttl_ms));
  page.uncached = page.uncached || !ttl;
  if (ttl) page.ttl_ms = std::min(page.ttl_ms.value_or(*ttl), *ttl);
  const std::string& text = answer.bytes();
  const json::Outline items(answer.at(row(page.list).items));  // they are passed over
  json::for_each_member_at(
      text, answer.at(Field::result),
      [&](const std::string& key, json::Span, json::Span value) {
        bool known = key == row(page.list).member || key == "nextCursor" || key == "ttlMs" ||
                     key == "cacheScope" || key == "resultType" || key == "_meta";
        if (!known) page.others.add(key, value.in(text));
      },
      &items);
  for_each_member(answer.raw(Field::result_meta), [&](const std::string& key, std::string_view raw) {
    if (key != kServerInfo) page.meta.add(key, raw);
  });
  std::string_view next = answer.raw(Field::result_next_cursor);
  return next == "null" ? std::string() : std::string(next);
}

json::Text merged_list(const ListPage& page, bool is_public) {
  Object rest;
  if (!page.more.empty()) {
    std::string_view method = mcp::row(row(page.list).method)->name;
    rest.add("nextCursor", json::quote(seal_cursor(method, page.more)));
  }
  rest.add("ttlMs", std::to_string(page.uncached || !page.missing.empty() ? 0 : page.ttl_ms.value_or(0)));
  rest.add("cacheScope", scope(is_public));
  for (const auto& [key, raw] : page.others)
    rest.add(key, raw);
  Object meta;
  meta.add(kServerInfo, kOwnInfo);
  for (const auto& [key, raw] : page.meta) {
    if (key != "io.lineward/missing") meta.add(key, raw);
  }
  if (!page.missing.empty()) meta.add("io.lineward/missing", missing_text(page.missing));
  rest.add("_meta", meta.text());

  std::string out = fmt::format(R"({{"jsonrpc":"2.0","id":0,"result":{{"resultType":"complete","{}":)",
                                row(page.list).member);
  const size_t begin = out.size();
  out.reserve(begin + page.items.size() + rest.members().size() + 8);
  out += '[';
  out += page.items;
  out += ']';
  const size_t end = out.size();
  out += ',';
  out += rest.members();
  out += "}}";
  if (out.size() >= std::numeric_limits<uint32_t>::max()) return {std::move(out), nullptr};
  const json::Span items{static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  return {std::move(out), std::make_shared<const json::Outline>(items)};
}

}  // namespace lineward::aggregate
