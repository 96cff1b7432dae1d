// Asks a stdio server for its era with a process that is started for that alone (era_probe.h), in the pauses
// that its starts have to keep. Probes that found nothing out are followed by pauses that grow.
//
// Where nobody calls the process waits its turn among those of other servers (net::StartLine).
//
// Where that process exits and nobody waits, a second one shows whether the server runs at all. Where
// somebody waits, the process that is started for him shows that.
//
// Owned by a StdioUpstream, which is its owner and outlives it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "upstream/shared/server_era.h"
#include "upstream/stdio/era_probe.h"
#include "upstream/stdio/stdio_health.h"

namespace lineward::upstream {

class StdioEraProberOwner {
 public:
  // The process that was asked is gone.
  virtual void on_prober_free() = 0;

 protected:
  ~StdioEraProberOwner() = default;
};

class StdioEraProber final : public EraProber {
 public:
  StdioEraProber(net::Loop& loop, net::Spawner& spawner, const config::Server& server, StdioHealth& health,
                 StdioEraProberOwner& owner);
  StdioEraProber(const StdioEraProber&) = delete;
  StdioEraProber& operator=(const StdioEraProber&) = delete;

  void ask(const core::CallRequest* first, Done done) override;
  bool is_busy() const override { return probe_ != nullptr; }
  void hurry() override;
  void relax() override { awaited_ = false; }
  // Somebody was asked, and nobody is now, or is to be.
  bool has_ended() const { return asked_ && probe_ == nullptr && !weak_ && !turn_.waits(); }
  // How long after such a one no other begins; 0: one may.
  std::chrono::milliseconds pause() const;
  // Ends the process that is being asked, and begins no other.
  void stop();

 private:
  void begin();
  void probed(const EraVerdict& verdict);
  void gone();
  void decide(const EraVerdict& verdict);

  net::Loop& loop_;
  net::Spawner& spawner_;
  const config::Server& server_;
  StdioHealth& health_;
  StdioEraProberOwner& owner_;
  Done done_;
  std::unique_ptr<EraProbe> probe_;
  std::optional<EraVerdict> weak_;  // the first one's, while there is to be a second one
  bool awaited_ = false;            // by some call
  bool asked_ = false;
  uint32_t failures_ = 0;  // in a row
  std::chrono::milliseconds not_before_{0};
  net::Timer pause_timer_;
  net::StartLine::Turn turn_;  // where nobody calls
  net::Timer turn_timer_;
  bool stopping_ = false;
};

}  // namespace lineward::upstream
