// The peers of the parts of a stdio server's upstream: a spawner that never starts a command, and an owner of
// calls that records its callbacks.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "foundation/process/child_process.h"
#include "foundation/process/spawn_wire.h"
#include "proxy/upstream/stdio/stdio_upstream.h"
#include "unit/protocol/mcp/parse.h"
#include "unit/proxy/core/asker.h"

namespace lineward::upstream {

using core::Asker;
using mcp::parse;

inline core::UpstreamRequest request_of(mcp::Era era, std::string text) {
  core::UpstreamRequest made;
  made.message = parse(std::move(text));
  made.method = mcp::method_of(made.message.method());
  made.client_era = era;
  return made;
}

// The environment that the spawner is asked to give a process, by the memfd of the request.
inline std::vector<std::string> environment_in(const std::vector<process::spawning::OwnedFd>& fds) {
  std::string bytes;
  process::SpawnRequest command;
  REQUIRE(process::spawning::read_memfd(fds.back().get(), &bytes));
  REQUIRE(process::spawning::decode(bytes, &command));
  return command.environment;
}

// Runs the loop for the turn that has begun, and those that follow within this time.
inline void run_for(net::Loop& loop, std::chrono::milliseconds time = std::chrono::milliseconds(1)) {
  net::Timer timer(loop);
  timer.start(time, [&] { loop.defer([&] { loop.stop(); }); });
  loop.run();
}

// A server with processes that are requested and never begin to run.
struct StdioWorld {
  net::Loop loop;
  config::Server server;
  int other_end = -1;
  std::unique_ptr<process::Spawner> spawner;
  std::unique_ptr<StdioUpstream> upstream;

  StdioWorld() {
    server.name = "files";
    server.command = "files";
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    other_end = ends[1];
    auto made = process::Spawner::create(loop, ends[0], [] {});
    REQUIRE(made);
    spawner = std::move(*made);
  }
  ~StdioWorld() {
    upstream.reset();
    run_for(loop);
    spawner.reset();
    close(other_end);
  }
  // For calls, where a test has no other use for it.
  StdioUpstream& made() {
    if (!upstream) upstream = std::make_unique<StdioUpstream>(loop, *spawner, server);
    return *upstream;
  }
  StdioCall call(core::UpstreamRequest request, Asker& asker) { return {made(), std::move(request), asker}; }
};

}  // namespace lineward::upstream
