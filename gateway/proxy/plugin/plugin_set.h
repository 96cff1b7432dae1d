// The plugins of one worker, in the order of the configuration. A reload makes another set; this one lives as
// long as exchanges refer to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "proxy/core/gate.h"
#include "proxy/plugin/host.h"
#include "proxy/plugin/plugin.h"

namespace lineward::plugin {

// Verdicts of a plugin's hooks, for /metrics.
struct Decisions {
  uint64_t proceeded = 0, refused = 0, answered = 0, waited = 0, dropped = 0, failed = 0;

  void add(const Decisions& more) {
    proceeded += more.proceeded;
    refused += more.refused;
    answered += more.answered;
    waited += more.waited;
    dropped += more.dropped;
    failed += more.failed;
  }
};

// The position of an exchange. With an aggregate, plugins that count whole calls see the call at the
// aggregate. Plugins that judge names or are limited to some servers see each server's request. No plugin
// sees both.
enum class ServerRole : uint8_t { single, aggregate, member };

class PluginSet final : public core::Gate {
 public:
  struct Member {
    config::PluginEntry entry;
    const Type* type;
    std::unique_ptr<Plugin> plugin;
    Decisions decisions;
  };

  // The error names the plugin and its line in the file. Plugins with the same entry in `before` are reused:
  // their buckets, keys and counters survive a reload.
  static Result<std::shared_ptr<PluginSet>> make(const config::Config& config, Registry registry, Host& host,
                                                 const PluginSet* before = nullptr);

  // The plugins interested in the exchange, in the configured order.
  struct Attached {
    Member* member;
    std::unique_ptr<Hook> hook;
  };
  std::vector<Attached> attach(ExchangeView& exchange, std::string_view server,
                               ServerRole role = ServerRole::single);
  // Whether any of them judges this server's member requests.
  bool judges_parts(std::string_view server) const;
  bool empty() const { return members_.empty(); }
  // Another set replaces this one; null: none. Notifies and returns the plugins that are not in it.
  std::vector<std::shared_ptr<Member>> replaced_by(const PluginSet* next);
  const std::vector<std::shared_ptr<Member>>& members() const { return members_; }

  // A message without an exchange passes the plugins that an exchange of this server would have: clients'
  // messages in the configured order, servers' in reverse.
  std::optional<core::PolicyError> judge_out_of_call(const RequestInfo& facts, mcp::Message& message,
                                                     Direction way, ServerRole role);

  // core::Gate
  bool open(std::string_view listener) const override;
  std::optional<core::GateAnswer> admit(const core::GateRequest& request, core::GateDone later) override;
  const std::vector<std::string>& headers_wanted() const override { return headers_; }
  void on_refused(const core::RefusedRequest& request) override;
  bool reads_all() const override;

 private:
  struct Voucher {
    Authenticator* authenticator;
    Member* member;
  };
  // The authentication of a listener with an auth of its own, or of all others.
  struct Group {
    std::string listener;    // empty: of all others
    bool anonymous = false;  // requests without credentials are admitted
    std::vector<Voucher> authenticators = {};
  };
  bool add(const config::PluginEntry& entry, Registry registry, Host& host, const PluginSet* before,
           std::string& fault);
  const Group& group_of(std::string_view listener) const;
  // Does it judge requests that came to this listener?
  bool is_at(const Member& member, std::string_view listener) const;

  std::vector<std::shared_ptr<Member>> members_;  // authenticators first; shared with the next set only
  std::vector<Group> groups_;                     // the one of all others first
  std::vector<std::string> headers_;
};

}  // namespace lineward::plugin
