// The plugins of one worker as a configuration names them, in its order. A reload makes another set; this one
// lives on as long as exchanges refer to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "core/gate.h"
#include "plugin/host.h"
#include "plugin/plugin.h"

namespace lineward::plugin {

// What each of its hooks decided, for /metrics.
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

// Where an exchange stands. Many servers as one: what counts whole calls sees the call at the aggregate, what
// judges names or is for some servers sees what each server is asked; nothing sees both.
enum class Place : uint8_t { alone, whole, part };

class PluginSet final : public core::Gate {
 public:
  struct Member {
    config::PluginEntry entry;
    const Type* type;
    std::unique_ptr<Plugin> plugin;
    Decisions decisions;
  };

  // The error names the plugin, and the line of the file where it stands. What `before` has with the same
  // entry is taken over as it is: its buckets, keys and numbers outlive a reload.
  static Result<std::shared_ptr<PluginSet>> make(const config::Config& config, Registry registry, Host& host,
                                                 const PluginSet* before = nullptr);

  // Those that want to see it, in the configured order.
  struct Attached {
    Member* member;
    std::unique_ptr<Hook> hook;
  };
  std::vector<Attached> attach(ExchangeView& exchange, std::string_view server, Place place = Place::alone);
  // Does any of them judge what this server is asked as a part?
  bool judges_parts(std::string_view server) const;
  bool empty() const { return members_.empty(); }
  // Another set is in its place; null: none. Those that are not in it too are told, and given back.
  std::vector<std::shared_ptr<Member>> replaced_by(const PluginSet* next);
  const std::vector<std::shared_ptr<Member>>& members() const { return members_; }

  // A message that belongs to no exchange passes those that an exchange of this server would have, clients'
  // messages in the configured order, servers' in reverse.
  std::optional<Refusal> loose(const RequestFacts& facts, mcp::Message& message, Direction way, Place place);

  // core::Gate
  bool open() const override { return authenticators_.empty(); }
  std::optional<core::GateAnswer> admit(const core::GateRequest& request, core::GateDone later) override;
  const std::vector<std::string>& headers_wanted() const override { return headers_; }
  void on_refused(const core::RefusedRequest& request) override;
  bool reads_all() const override;

 private:
  bool add(const config::PluginEntry& entry, Registry registry, Host& host, const PluginSet* before,
           std::string& fault);

  std::vector<std::shared_ptr<Member>> members_;  // authenticators first; shared with the next set only
  struct Voucher {
    Authenticator* authenticator;
    Member* member;
  };
  std::vector<Voucher> authenticators_;
  std::vector<std::string> headers_;
  bool anonymous_ = false;  // who brings no credentials may come in
};

}  // namespace lineward::plugin
