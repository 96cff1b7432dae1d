// Finds out which era a stdio server speaks by asking a process of its own, the probe process (behaviour.md
// 8; 2026-07-28 stdio, "Backward Compatibility"): `server/discover`, and after two seconds of silence
// `initialize` too. The first good answer decides; an exit or any other error means legacy. Never a client's
// request: a legacy server might run it.
//
// An exit may also mean that the server cannot run at all. Another process that is asked `initialize` first
// tells: it answers, if with an error, or its server is not there.
#pragma once

#include <functional>

#include "upstream/shared/era_verdict.h"
#include "upstream/stdio/stdio_process.h"

namespace lineward::upstream {

class EraProbe final : public ProcessOwner {
 public:
  enum class First : uint8_t { discover, initialize };

  // `decided` is called once; `finished` once that process has ended (then the probe may be freed, at the end
  // of the turn). Both from the loop.
  EraProbe(net::Loop& loop, net::Spawner& spawner, const config::Server& server, First first,
           std::function<void(const EraVerdict&)> decided, std::function<void()> finished);
  void stop();

 private:
  void on_process_started() override;
  void on_process_line(json::Text line) override;
  void on_process_down(const ProcessEnd& end) override;
  void on_process_gone() override;
  void decide(EraVerdict verdict);

  void ask_initialize();
  void failed(ProcessEnd end);

  const config::Server& server_;
  const First first_;
  bool refused_initialize_ = false;
  bool knows_initialize_ = false;  // it refused that with another error than that there is no such method
  std::function<void(const EraVerdict&)> decided_;
  std::function<void()> finished_;
  StdioProcess process_;
  net::Timer patience_;
  net::Timer limit_;
};

}  // namespace lineward::upstream
