// Detects the era of a stdio server with a process of its own, the probe process (behaviour.md 8; 2026-07-28
// stdio, "Backward Compatibility"). It sends `server/discover`, and after two seconds without an answer
// `initialize` too. The first valid answer decides; an exit or any other error means legacy. It never sends a
// client's request: a legacy server might execute it.
//
// An exit may also mean that the server cannot run at all. A second process that gets `initialize` first
// decides: it answers, even with an error, or the server cannot run.
#pragma once

#include <functional>

#include "proxy/upstream/shared/era_verdict.h"
#include "proxy/upstream/stdio/stdio_process.h"

namespace lineward::upstream {

class EraProbe final : public ProcessCallbacks {
 public:
  enum class First : uint8_t { discover, initialize };

  // `decided` is called once; `finished` once the process has ended (then the probe may be freed, at the end
  // of the turn). Both from the loop.
  EraProbe(net::Loop& loop, process::Spawner& spawner, const config::Server& server, First first,
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
  bool knows_initialize_ = false;  // it refused `initialize` with an error other than "no such method"
  std::function<void(const EraVerdict&)> decided_;
  std::function<void()> finished_;
  StdioProcess process_;
  net::Timer patience_;
  net::Timer limit_;
};

}  // namespace lineward::upstream
