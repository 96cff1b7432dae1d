// An upstream around a stdio server that remembers its answers to discover, `initialize` and lists on disk
// (docs/quick-starts.md). While the caller has no running process, such a request is answered from memory.
// It is sent to the server too (AnswerCheck), which starts it; if the server's answer differs, the memory is
// replaced, and the clients that were answered get list_changed. All other requests pass, and wait for the
// start as without a memory.
//
// Next to the transport: views, plugins, caches and the bridge between eras see remembered answers as they
// see the server's own. Lists of a process that may hold a client's state are not learned. Not made for a
// server that learns the identity of callers (config::tells_callers). An answer belongs to one principal,
// era, revision and set of capabilities.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "foundation/base/memory_charge.h"
#include "foundation/net/lifetime.h"
#include "foundation/net/loop.h"
#include "proxy/core/passing_upstream.h"
#include "proxy/metrics/stats.h"
#include "proxy/upstream/layers/answer_check.h"
#include "proxy/upstream/layers/memory_file.h"
#include "proxy/upstream/layers/remembered_answers.h"
#include "proxy/upstream/shared/caller_group.h"

namespace lineward::upstream {

class RememberedChanges;

class RememberingUpstream final : public core::PassingUpstream {
 public:
  // The functions of the transport that this layer needs.
  struct Transport {
    // A ready process serves this request.
    std::function<bool(const core::UpstreamRequest&)> is_running;
    // The era in which requests of this scope are served; nullopt while it is not known.
    std::function<std::optional<mcp::Era>(const core::Scope&)> era_for;
    // A process of this group of callers (CallerGroup::key) runs or starts, or a call waits for one.
    std::function<bool(const std::string& group)> is_awaited;
    // The era of the last life, until the server shows another one.
    std::function<void(const EraVerdict&)> assume;
    std::function<void()> doubt;         // that era may be wrong
    process::StartLine* line = nullptr;  // null: checks begin at once
    // How long the memory is not used after a failed start.
    std::chrono::milliseconds failure_lasts{60 * 1000};
  };
  // `environment` as in memory_place().
  RememberingUpstream(net::Loop& loop, std::unique_ptr<core::Upstream> inner, const config::Server& server,
                      const char* const* environment, Transport transport);
  ~RememberingUpstream() override;

  // `changed` gets a list_changed notification for each list that differed, for layers that keep lists.
  void on_changed(std::function<void(const mcp::Message&)> changed) { changed_ = std::move(changed); }
  // The server's answer to discover is another one than clients were given.
  void on_described(std::function<void()> described) { described_ = std::move(described); }
  // It tells the listens of clients about lists that differed. Without one they are not told.
  void use(RememberedChanges& listens) { listens_ = &listens; }
  // The transport has found out the era.
  void note_era(const EraVerdict& verdict);

  Result<std::unique_ptr<core::Call>, core::Failure> start(core::UpstreamRequest&& request,
                                                           core::CallCallbacks& owner) override;
  void open_scope(const core::Scope& scope, core::ScopeCallbacks& owner) override;
  void close_scope(const core::Scope& scope) override;
  void send(const core::Scope& scope, mcp::Era client_era, const mcp::Message& message,
            const core::HeaderFields& headers) override;
  core::UpstreamStatus status() const override;
  void notice(core::UpstreamNotice what) override;
  void stop(std::function<void()> done) override;

  // The keys of groups of callers that share processes: two while the era is not known.
  using Groups = std::vector<std::string>;
  // For its calls. `key`: as in the table of answers.
  net::Loop& loop() { return loop_; }
  core::Upstream& inner() { return *inner_; }
  void learn(const std::string& key, mcp::Method method, const core::Scope& scope, const Groups& groups,
             const mcp::Message& answer);

 private:
  // A client's own session.
  struct Session {
    core::ScopeCallbacks* owner = nullptr;
    std::string handshake;  // a digest of the parameters that matter; empty: none was seen
    std::string revision;   // that the client was given from memory, while the server starts
    // Notifications that must not precede the server's answer to `initialize`.
    std::vector<mcp::Message> held;
    MemoryCharge held_bytes{Held::sessions};
    // As bits of WatchedListen: lists with `listChanged` in the server's capabilities, and lists that
    // differed before the client has sent `notifications/initialized`.
    uint8_t declared = 0, changed = 0;
    bool is_initialized = false;
    bool is_starting() const { return !revision.empty(); }
  };
  // The processes of a group of callers, as far as requests show them.
  struct Process {
    bool is_used = false;     // it may hold state: it got a request beyond the handshake and lists
    std::string fingerprint;  // of its program, before the request that started it
  };

  enum class Era : bool { ignored, assumed };
  void load(Era era);
  // The fingerprint now; at most once a second. Empty: it is not known.
  const std::string& fingerprint_now();
  bool is_same_program();
  Groups groups_of(const core::UpstreamRequest& request, std::optional<mcp::Era> era);
  bool may_hold_state(const core::Scope& scope, const Groups& groups) const;
  bool is_current(const Groups& groups);
  std::string starter_of(const core::Scope& scope) const;
  bool has_failed_for(const core::Scope& scope) const;
  Groups note_request(const core::UpstreamRequest& request);
  std::string key_of(const core::UpstreamRequest& request);
  bool may_answer(const core::UpstreamRequest& request);
  std::unique_ptr<core::Call> from_memory(const std::string& key, const Groups& groups,
                                          const mcp::Message& kept, core::UpstreamRequest& request,
                                          core::CallCallbacks& owner);
  bool check(const std::string& key, const Groups& groups, const mcp::Message& kept,
             const core::UpstreamRequest& request);
  void hurry_checks(const core::UpstreamRequest& before, const Groups& groups);
  void checked(AnswerCheck& check, Result<mcp::Message, core::Failure> answer);
  void failed(const AnswerCheck& check, const core::Failure& failure);
  void handshake_checked(const AnswerCheck& check, const mcp::Message& answer, bool differs);
  void tell(const AnswerCheck& check);
  void tell_session(Session& session);
  void pass(const core::Scope& scope, const mcp::Message& message, const core::HeaderFields& headers);
  Session* session_of(const core::Scope& scope);
  void cancel_checks(const core::Scope& scope);
  void write_later();
  void write();

  net::Loop& loop_;
  const config::Server& server_;
  const char* const* const environment_;
  const Transport transport_;
  metrics::UpstreamStats& stats_;
  std::function<void(const mcp::Message&)> changed_;
  std::function<void()> described_;
  bool loaded_ = false;
  const bool had_file_;
  MemoryPlace place_;
  std::string fingerprint_;
  std::chrono::milliseconds fingerprint_at_{-1000000};
  CallerGrouping grouping_{server_};
  std::map<std::string, Process> processes_;  // by group
  std::set<std::string> used_sessions_;       // as Process::is_used, whatever process they have by now
  RememberedAnswers answers_;
  // The last start for these callers failed (starter_of()): their calls get that failure, and no memory,
  // until the server answers one of them, or until this time.
  std::map<std::string, std::chrono::milliseconds> failed_;
  std::map<std::string, std::unique_ptr<AnswerCheck>> checks_;  // by id
  std::map<std::string, Session> sessions_;
  RememberedChanges* listens_ = nullptr;  // above
  bool is_dirty_ = false, is_retired_ = false;
  std::chrono::milliseconds written_at_{0};
  net::Timer write_timer_{loop_};
  net::Lifetime lifetime_;
};

}  // namespace lineward::upstream
