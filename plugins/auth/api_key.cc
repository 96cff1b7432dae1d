// Callers with API keys: a file of key hashes (plugins/auth/key_file.h), read again when it changes. The
// principal is "key:NAME", behind the realm of a listener with an auth of its own.
#include <fmt/format.h>

#include <memory>

#include "config/auth_blocks.h"
#include "foundation/log/log.h"
#include "foundation/net/file_watch.h"
#include "plugins/auth/auth_common.h"
#include "plugins/auth/key_file.h"
#include "plugins/common/types.h"

namespace lineward::plugins {
namespace {

using config::Kind;
using config::plugin_choice;
using config::plugin_option;
using mcp::EndReason;
using plugin::Judgement;

enum class Place : uint8_t { any, own_header, authorization };
constexpr std::string_view kOwnHeader = "X-API-Key";
constexpr size_t kMaxKey = 1024;

class ApiKey final : public plugin::Plugin, public plugin::Authenticator {
 public:
  ApiKey(const config::PluginEntry& entry, plugin::Host& host)
      : name_(entry.name),
        file_(entry.path_of(entry.values.text("file"))),
        place_(static_cast<Place>(entry.values.number("header"))),
        listener_(entry.listener),
        realm_(entry.realm()),
        host_(host),
        resource_(host, entry.listener),
        rules_(entry.values) {
    rules_.say_if_unused(name_, host);
  }

  Status<> load(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines)
      text += line + "\n";
    auto given = read_keys(text);
    if (!given) return fail("keys: " + given.error().text);
    fixed_ = std::move(*given);
    if (file_.empty()) {
      use({});
      return Done{};
    }
    auto seen = net::FileWatch::look(file_);
    auto read = read_file();
    if (!read) return Unexpected<Error>{read.error()};
    use(std::move(*read));
    watch_ = std::make_unique<net::FileWatch>(
        host_.loop(), file_, [this] { read_again(); }, std::move(seen));
    return Done{};
  }

  // plugin::Plugin
  std::unique_ptr<plugin::Hook> attach(plugin::ExchangeView& exchange) override {
    if (!rules_.has_rules()) return nullptr;
    plugin::RequestInfo facts = exchange.facts();
    bool mine = facts.caller == nullptr || facts.caller->by == name_;
    if (facts.on_stdio || !mine) return nullptr;
    return std::make_unique<ScopeCheck>(rules_, resource_, failures_, false);
  }
  plugin::Authenticator* authenticator() override { return this; }
  void count(plugin::CounterSink& sink) const override {
    failures_.count(sink);
    sink.add("lineward_api_keys", {}, static_cast<double>(keys_.size()));
  }

  // plugin::Authenticator
  Judgement judge(const core::GateRequest& request, core::GateDone) override {
    std::string_view key;
    size_t own = place_ == Place::authorization ? 0 : request.headers.count(kOwnHeader);
    if (own > 1) return refused("malformed", "there are several X-API-Key headers");
    if (own == 1) {
      key = request.headers.get(kOwnHeader);
    } else {
      if (place_ == Place::own_header) return {};
      size_t count = request.headers.count("Authorization");
      if (count == 0) return {};
      if (count > 1) return refused("malformed", "there are several Authorization headers");
      auto token = bearer_token(request.headers);
      if (!token) return {};
      key = *token;
    }
    const HashedKey* found = key.empty() || key.size() > kMaxKey ? nullptr : find_key(keys_, key);
    if (found == nullptr) {
      // A bearer token that is not a key may belong to another authenticator.
      if (own == 0 && config::auth_of(host_.config(), listener_).methods.size() > 1) return {};
      return refused("unknown_key", "this API key is not known");
    }
    const core::CallerPtr& caller = callers_[static_cast<size_t>(found - keys_.data())];
    if (!has_all(*caller, rules_.required())) {
      failures_.add("scope");
      return {
          Judgement::Kind::decided,
          denial(EndReason::forbidden, 403, "this API key lacks the scope " + joined(rules_.required()), {})};
    }
    return {Judgement::Kind::decided, caller};
  }

  // Only if it is the only method: clients use the first challenge, which must be a usable one.
  std::string challenge(const core::GateRequest&) const override {
    if (config::auth_of(host_.config(), listener_).methods.size() > 1) return {};
    if (place_ == Place::authorization) return "Bearer realm=\"lineward\"";
    return "ApiKey realm=\"lineward\", header=\"X-API-Key\"";
  }

 private:
  Judgement refused(std::string_view reason, std::string text) {
    failures_.add(reason);
    std::string asks = place_ == Place::authorization ? "Bearer error=\"invalid_token\""
                                                      : "ApiKey realm=\"lineward\", header=\"X-API-Key\"";
    return {Judgement::Kind::decided, denial(EndReason::unauthorized, 401, std::move(text), std::move(asks))};
  }

  Result<std::vector<HashedKey>> read_file() {
    std::string warning;
    auto read = read_key_file(file_, warning);
    if (!warning.empty())
      log::write(log::Level::warn, "auth.keys", {{"plugin", name_}, {"file", file_}, {"why", warning}});
    return read;
  }

  void use(std::vector<HashedKey> keys) {
    for (const HashedKey& key : fixed_)
      keys.push_back(key);
    std::vector<core::CallerPtr> callers;
    for (const HashedKey& key : keys) {
      core::Caller caller;
      caller.principal = realm_ + "key:" + key.name;
      caller.name = key.name;
      caller.by = name_;
      caller.kind = "key";
      caller.subject = key.name;
      caller.scopes = key.scopes;
      callers.push_back(std::make_shared<const core::Caller>(std::move(caller)));
    }
    keys_ = std::move(keys);
    callers_ = std::move(callers);
  }

  void read_again() {
    auto read = read_file();
    if (!read) {
      log::write(log::Level::error, "auth.keys",
                 {{"plugin", name_}, {"why", read.error().text}, {"in_effect", "the keys of before"}});
      return;
    }
    use(std::move(*read));
    log::write(log::Level::info, "auth.keys",
               {{"plugin", name_}, {"file", file_}, {"keys", uint64_t{keys_.size()}}});
  }

  std::string name_, file_;
  Place place_;
  const std::string listener_, realm_;
  plugin::Host& host_;
  Resource resource_;
  AuthScopes rules_;
  Failures failures_;
  std::vector<HashedKey> fixed_;  // from the configuration itself
  std::vector<HashedKey> keys_;
  std::vector<core::CallerPtr> callers_;  // of each key
  std::unique_ptr<net::FileWatch> watch_;
};

constexpr const char* kMakeKeys = "lineward hash-key --new NAME prints a line for each caller";

// The same checks as load(), before the gateway runs.
void look_at_keys(const config::PluginEntry& entry, std::vector<config::PluginFinding>& findings) {
  const std::string& file = entry.values.text("file");
  const std::vector<std::string>& lines = entry.values.list("keys");
  if (file.empty() && lines.empty())
    findings.push_back({"", "missing-option", "give file: or keys:", kMakeKeys});
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  if (auto given = read_keys(text); !given)
    findings.push_back({"keys", "bad-key", given.error().text, kMakeKeys});
  if (file.empty()) return;
  std::string warning;
  if (auto read = read_key_file(entry.path_of(file), warning); !read) {
    findings.push_back({"file", "bad-key-file", read.error().text, kMakeKeys});
  } else if (!warning.empty()) {
    findings.push_back({"file", "open-key-file", warning, "chmod 600 it", true});
  }
}

constexpr plugin::MetricRow kMetrics[] = {
    kAuthFailures,
    {"lineward_api_keys", "gauge", "", "API keys in effect.", true},
};

const config::PluginSpec& spec() {
  static const config::PluginSpec kSpec = [] {
    config::PluginSpec spec{
        "apiKey",
        "Admits callers with one of these keys; docs/auth.md.",
        true,
        {plugin_option("file", Kind::text, "", 0, 0,
                       "Lines of `name sha256:HEX [scope …]`, made by lineward hash-key. Read again when it "
                       "changes."),
         plugin_option("keys", Kind::list, "", 0, 0, "The same lines in the configuration itself."),
         plugin_choice("header", "any|X-API-Key|Authorization", "any",
                       "The headers that may carry a key: X-API-Key, Authorization: Bearer, or either.")},
        {},
        look_at_keys};
    for (config::Option& option : AuthScopes::options())
      spec.options.push_back(option);
    return spec;
  }();
  return kSpec;
}

}  // namespace

plugin::Type api_key() {
  return {
      &spec(), kMetrics,
      [](const config::PluginEntry& entry, plugin::Host& host) -> Result<std::unique_ptr<plugin::Plugin>> {
        if (entry.values.text("file").empty() && entry.values.list("keys").empty())
          return fail("give file: or keys:");
        auto made = std::make_unique<ApiKey>(entry, host);
        if (auto loaded = made->load(entry.values.list("keys")); !loaded) return fail(loaded.error().text);
        return Result<std::unique_ptr<plugin::Plugin>>(std::move(made));
      }};
}

}  // namespace lineward::plugins
