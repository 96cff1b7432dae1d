// Detects the era of a stdio server with a process of its own, the probe process (behaviour.md 8; 2026-07-28
// stdio, "Backward Compatibility"). It sends `server/discover`, and after two seconds without an answer
// `initialize` too. The first valid answer decides; an exit or any other error means legacy. It never sends a
// client's request: a legacy server might execute it.
//
// An exit may also mean that the server cannot run at all. If no call waits, a second process that gets
// `initialize` first decides: it answers, even with an error, or the server cannot run. If a call waits, the
// process started for the call shows that.
//
// Observes the pauses between starts; failed probes are followed by growing pauses. If no call waits, a probe
// process takes its turn among those of other servers (process::StartLine).
//
// Owned by a StdioUpstream.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "proxy/upstream/shared/server_era.h"
#include "proxy/upstream/stdio/stdio_health.h"
#include "proxy/upstream/stdio/stdio_process.h"

namespace lineward::upstream {

class StdioEraProber final : public EraProber, public ProcessCallbacks {
 public:
  // `freed`: the probe process has exited, and no other is planned.
  StdioEraProber(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                 StdioHealth& health, std::function<void()> freed)
      : loop_(loop), spawner_(spawner), server_(server), health_(health), freed_(std::move(freed)) {}

  void ask(const core::UpstreamRequest* first, Done done) override;
  bool is_busy() const override { return process_ != nullptr; }
  void hurry() override;
  void relax() override { awaited_ = false; }
  // A probe was made, and none is running or planned.
  bool has_ended() const { return asked_ && !is_busy() && !weak_ && !turn_.waits(); }
  // The pause before the next probe; 0: none.
  std::chrono::milliseconds pause() const;
  // Ends the probe process, and starts no other.
  void stop();

 private:
  // ProcessCallbacks
  void on_process_started() override;
  void on_process_line(json::Text line) override;
  void on_process_down(const ProcessEnd& end) override;
  void on_process_gone() override;

  void begin();
  void ask_discover();
  void ask_initialize();
  void stop_process();
  // The verdict of the probe process, once for each.
  void failed(ProcessEnd end);
  void probed(const EraVerdict& verdict);
  void decide(const EraVerdict& verdict);

  net::Loop& loop_;
  process::Spawner& spawner_;
  const config::Server& server_;
  StdioHealth& health_;
  const std::function<void()> freed_;
  Done done_;
  config::Identity::Map about_caller_;  // of the request that waits; empty: none does
  std::optional<EraVerdict> weak_;      // the first verdict, while a second probe is planned
  bool awaited_ = false;                // a call waits
  bool asked_ = false;
  uint32_t failures_ = 0;  // in a row
  std::chrono::milliseconds not_before_{0};
  net::Timer pause_timer_{loop_};
  process::StartLine::Turn turn_;  // used if no call waits
  net::Timer turn_timer_{loop_};
  bool stopping_ = false;

  std::unique_ptr<StdioProcess> process_;
  // State of this process:
  bool initialize_first_ = false;
  bool refused_initialize_ = false;
  bool knows_initialize_ = false;  // it refused `initialize` with an error other than "no such method"
  bool probed_ = false;
  net::Timer patience_{loop_};
  net::Timer limit_{loop_};
};

}  // namespace lineward::upstream
