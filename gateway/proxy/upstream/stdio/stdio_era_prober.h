// Detects a stdio server's era with a process that is started only for that (era_probe.h), observing the
// pauses between starts. Failed probes are followed by growing pauses.
//
// If no call waits, the process takes its turn among those of other servers (process::StartLine).
//
// If that process exits and no call waits, a second one shows whether the server runs at all. If a call
// waits, the process started for the call shows that.
//
// Owned by a StdioUpstream, which is its owner and outlives it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "proxy/upstream/shared/server_era.h"
#include "proxy/upstream/stdio/era_probe.h"
#include "proxy/upstream/stdio/stdio_health.h"

namespace lineward::upstream {

class StdioEraProberCallbacks {
 public:
  // The probe process has exited.
  virtual void on_prober_free() = 0;

 protected:
  ~StdioEraProberCallbacks() = default;
};

class StdioEraProber final : public EraProber {
 public:
  StdioEraProber(net::Loop& loop, process::Spawner& spawner, const config::Server& server,
                 StdioHealth& health, StdioEraProberCallbacks& owner);
  StdioEraProber(const StdioEraProber&) = delete;
  StdioEraProber& operator=(const StdioEraProber&) = delete;

  void ask(const core::UpstreamRequest* first, Done done) override;
  bool is_busy() const override { return probe_ != nullptr; }
  void hurry() override;
  void relax() override { awaited_ = false; }
  // A probe was made, and none is running or planned.
  bool has_ended() const { return asked_ && probe_ == nullptr && !weak_ && !turn_.waits(); }
  // The pause before the next probe; 0: none.
  std::chrono::milliseconds pause() const;
  // Ends the probe process, and starts no other.
  void stop();

 private:
  void begin();
  void probed(const EraVerdict& verdict);
  void gone();
  void decide(const EraVerdict& verdict);

  net::Loop& loop_;
  process::Spawner& spawner_;
  const config::Server& server_;
  StdioHealth& health_;
  StdioEraProberCallbacks& owner_;
  Done done_;
  std::unique_ptr<EraProbe> probe_;
  std::optional<EraVerdict> weak_;  // the first verdict, while a second probe is planned
  bool awaited_ = false;            // a call waits
  bool asked_ = false;
  uint32_t failures_ = 0;  // in a row
  std::chrono::milliseconds not_before_{0};
  net::Timer pause_timer_;
  process::StartLine::Turn turn_;  // used if no call waits
  net::Timer turn_timer_;
  bool stopping_ = false;
};

}  // namespace lineward::upstream
