#include "proxy/plugin/plugin_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/aggregate.h"

namespace lineward::plugin {

Result<std::shared_ptr<PluginSet>> PluginSet::make(const config::Config& config, Registry registry,
                                                   Host& host, const PluginSet* before) {
  auto set = std::make_shared<PluginSet>();
  std::vector<const std::vector<config::PluginEntry>*> lists{&config.auth.methods};
  set->groups_.push_back({{}, config.auth.anonymous});
  for (const config::FurtherListen& one : config.listeners) {
    if (!one.auth.given) continue;
    set->groups_.push_back({one.name, one.auth.anonymous});
    lists.push_back(&one.auth.methods);
  }
  lists.push_back(&config.plugins);
  std::string fault;
  for (const auto* list : lists) {
    for (const config::PluginEntry& entry : *list) {
      if (!set->add(entry, registry, host, before, fault)) return fail(fault);
    }
  }
  return set;
}

bool PluginSet::add(const config::PluginEntry& entry, Registry registry, Host& host, const PluginSet* before,
                    std::string& fault) {
  auto type = std::find_if(registry.begin(), registry.end(),
                           [&](const Type& one) { return one.spec->name == entry.type; });
  auto say = [&](const std::string& why) {
    fault = fmt::format("plugin {}{}: {}", entry.name.empty() ? entry.type : entry.name,
                        entry.line > 0 ? fmt::format(" (line {})", entry.line) : "", why);
    return false;
  };
  if (type == registry.end()) return say("there is no such plugin");
  std::shared_ptr<Member> member;
  if (before != nullptr) {
    auto same = std::find_if(before->members_.begin(), before->members_.end(),
                             [&](const auto& one) { return one->entry == entry; });
    if (same != before->members_.end()) member = *same;
  }
  if (!member) {
    auto made = type->make(entry, host);
    if (!made) return say(made.error().text);
    member = std::make_shared<Member>(Member{entry, &*type, std::move(*made), {}});
  }
  if (Authenticator* authenticator = member->plugin->authenticator()) {
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const Group& one) { return one.listener == entry.listener; });
    if (group == groups_.end()) return say("there is no such listener");
    group->authenticators.push_back({authenticator, member.get()});
  }
  for (const std::string& header : member->plugin->headers()) {
    if (std::find(headers_.begin(), headers_.end(), header) == headers_.end()) headers_.push_back(header);
  }
  members_.push_back(std::move(member));
  return true;
}

namespace {

// Methods that the aggregate answers itself, or that are sent to no server: they contain no names.
bool stays_at_aggregate(mcp::Method method) {
  return method == mcp::Method::initialize || method == mcp::Method::ping ||
         method == mcp::Method::logging_set_level;
}

// A tool call, or a request about its task.
bool reaches_tool(mcp::Method method) {
  switch (method) {
    case mcp::Method::tools_call:
    case mcp::Method::tasks_get:
    case mcp::Method::tasks_update:
    case mcp::Method::tasks_cancel:
    case mcp::Method::tasks_result:
    case mcp::Method::subscriptions_listen: return true;
    default: return false;
  }
}

bool is_for_whole(const PluginSet::Member& member, mcp::Method method) {
  if (!member.entry.servers.empty()) return false;
  if (stays_at_aggregate(method)) return true;
  // Rules for methods are the same everywhere; rules for tools use each server's own names.
  if (member.plugin->authenticator() != nullptr)
    return !reaches_tool(method) || member.entry.values.map("toolScopes").empty();
  return config::counts_once(member.entry);
}

}  // namespace

const PluginSet::Group& PluginSet::group_of(std::string_view listener) const {
  auto own = std::find_if(groups_.begin() + 1, groups_.end(),
                          [&](const Group& one) { return one.listener == listener; });
  return own == groups_.end() ? groups_.front() : *own;
}

// An authenticator's rules are those of its own callers, and of anonymous ones at the same listeners.
bool PluginSet::is_at(const Member& member, std::string_view listener) const {
  return member.plugin->authenticator() != nullptr ? member.entry.listener == group_of(listener).listener
                                                   : member.entry.is_at(listener);
}

bool PluginSet::judges_parts(std::string_view server) const {
  return std::any_of(members_.begin(), members_.end(), [&](const auto& member) {
    return member->entry.is_for(server) && member->plugin->authenticator() == nullptr &&
           !config::counts_once(member->entry);
  });
}

std::vector<PluginSet::Attached> PluginSet::attach(ExchangeView& exchange, std::string_view server,
                                                   ServerRole role) {
  std::vector<Attached> out;
  if (members_.empty()) return out;
  const std::string_view listener = exchange.facts().listener;
  for (auto& member : members_) {
    bool here = role == ServerRole::single ||
                (role == ServerRole::aggregate) == is_for_whole(*member, exchange.facts().method);
    if (!here || !member->entry.is_for(server) || !is_at(*member, listener)) continue;
    if (auto hook = member->plugin->attach(exchange)) out.push_back({member.get(), std::move(hook)});
  }
  return out;
}

namespace {

// Counts the decision, and names the plugin that refuses, now or later. Admission may be checked twice, first
// only for immediate results: an approval counts when it is `final`, a refusal always.
core::GateAnswer decided(PluginSet::Member& member, core::GateAnswer answer, bool final) {
  auto* denial = std::get_if<core::PolicyError>(&answer);
  if (denial != nullptr && denial->by.empty()) denial->by = member.entry.name;
  if (denial != nullptr) {
    ++member.decisions.refused;
  } else if (final) {
    ++member.decisions.proceeded;
  }
  return answer;
}

}  // namespace

// The auth of a single listener may have no plugin at all: then client certificates alone let callers in.
bool PluginSet::open(std::string_view listener) const {
  const Group& group = group_of(listener);
  return group.authenticators.empty() && (group.listener.empty() || group.anonymous);
}

std::optional<core::GateAnswer> PluginSet::admit(const core::GateRequest& request, core::GateDone later) {
  const Group& group = group_of(request.listener);
  for (const Voucher& one : group.authenticators) {
    Member& member = *one.member;
    core::GateDone named;
    // The member's own plugin calls this, so the member exists.
    if (later)
      named = [later, &member](core::GateAnswer answer) { later(decided(member, std::move(answer), true)); };
    Judgement judgement = one.authenticator->judge(request, std::move(named));
    if (judgement.kind == Judgement::Kind::later && later) ++member.decisions.waited;
    if (judgement.kind == Judgement::Kind::later) return std::nullopt;
    if (judgement.kind == Judgement::Kind::decided)
      return decided(member, std::move(judgement.answer), later != nullptr);
  }
  bool has_credentials = request.headers.count("Authorization") > 0;
  if (request.certificate != nullptr && !has_credentials) return core::GateAnswer(*request.certificate);
  if (group.anonymous && !has_credentials) return core::GateAnswer(core::CallerPtr());
  core::PolicyError denial{.reason = mcp::EndReason::unauthorized, .status = 401};
  denial.by = "auth";
  denial.text =
      has_credentials ? "these credentials are of no kind that this gateway takes" : "credentials required";
  if (group.authenticators.empty()) denial.text = "a client certificate is required";
  for (const Voucher& one : group.authenticators) {
    std::string challenge = one.authenticator->challenge(request);
    if (!challenge.empty()) denial.headers.emplace_back("WWW-Authenticate", std::move(challenge));
  }
  return core::GateAnswer(std::move(denial));
}

std::optional<core::PolicyError> PluginSet::judge_out_of_call(const RequestInfo& facts, mcp::Message& message,
                                                              Direction way, ServerRole role) {
  std::vector<Member*> here;
  for (auto& member : members_) {
    bool its =
        role == ServerRole::single || (role == ServerRole::aggregate) == is_for_whole(*member, facts.method);
    if (its && member->entry.is_for(facts.upstream) && is_at(*member, facts.listener))
      here.push_back(member.get());
  }
  if (way == Direction::to_client) std::reverse(here.begin(), here.end());
  std::optional<core::PolicyError> refusal;
  for (Member* member : here) {
    refusal = member->plugin->on_out_of_call(facts, message, way);
    if (!refusal) continue;
    ++member->decisions.refused;
    refusal->by = member->entry.name;
    break;
  }
  if (way == Direction::to_client) return refusal;
  for (Member* member : here)
    member->plugin->on_out_of_call_end(facts, refusal ? &*refusal : nullptr);
  return refusal;
}

bool PluginSet::reads_all() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const auto& member) { return member->plugin->reads_all(); });
}

void PluginSet::on_refused(const core::RefusedRequest& request) {
  for (auto& member : members_)
    member->plugin->on_refused(request);
}

std::vector<std::shared_ptr<PluginSet::Member>> PluginSet::replaced_by(const PluginSet* next) {
  std::vector<std::shared_ptr<Member>> out;
  for (const auto& member : members_) {
    const bool stays = next != nullptr && std::find(next->members_.begin(), next->members_.end(), member) !=
                                              next->members_.end();
    if (stays) continue;
    member->plugin->retired();
    out.push_back(member);
  }
  return out;
}

}  // namespace lineward::plugin
