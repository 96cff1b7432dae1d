#include "proxy/upstream/shared/process_end.h"

#include <catch2/catch.hpp>
#include <string>

#include "config/config.h"

namespace lineward::upstream {
namespace {

config::Server server_with(std::string name, std::string value) {
  config::Server server;
  server.name = "s";
  server.command = "node";
  server.env.emplace_back(std::move(name), std::move(value));
  return server;
}

ProcessEnd exited_with(std::string last_words) {
  ProcessEnd end;
  end.text = "exited with code 1";
  end.last_stderr = std::move(last_words);
  return end;
}

TEST_CASE("a client is told a process's last words without what its server was given, harmless values too") {
  CHECK(
      start_failure_text(exited_with("no database devel_7 at devel_7"), server_with("DATABASE", "devel_7")) ==
      "exited with code 1; its last words: no database *** at ***");
  // It stands in texts by chance.
  CHECK(start_failure_text(exited_with("port 80: in use"), server_with("PORT", "80")) ==
        "exited with code 1; its last words: port 80: in use");
}

TEST_CASE("a client is told last words on one line") {
  CHECK(start_failure_text(exited_with("a\tb\x1b[31m\x7f"), server_with("A", "none here")) ==
        "exited with code 1; its last words: a b [31m ");
}

TEST_CASE(
    "a client gets no last words if there are none, if they are not for it, or if the gateway ended the "
    "process") {
  config::Server server = server_with("A", "none here");
  CHECK(start_failure_text(exited_with(""), server) == "exited with code 1");
  ProcessEnd stopped = exited_with("bye");
  stopped.reason = mcp::EndReason::cancelled_drain;
  CHECK(start_failure_text(stopped, server) == "exited with code 1");
  server.tell_stderr = false;
  CHECK(start_failure_text(exited_with("bye"), server) == "exited with code 1");
}

}  // namespace
}  // namespace lineward::upstream
