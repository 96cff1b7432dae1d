#include "proxy/upstream/stdio/stdio_era_prober.h"

#include <algorithm>

#include "config/forward_rules.h"
#include "unit/proxy/upstream/stdio/stdio_world.h"

using namespace lineward;
using namespace lineward::upstream;
namespace spawning = process::spawning;

TEST_CASE("a process that is asked for its era has the variables of the caller that waits for it") {
  StdioWorld stdio;
  const std::string user = "\x01principal.subject\x02";
  stdio.server.identity.env = {{"USER_ID", user}};
  StdioHealth health(stdio.loop, stdio.server, [](const core::Failure&) {});
  StdioEraProber prober(stdio.loop, *stdio.spawner, stdio.server, health, [] {});
  core::UpstreamRequest request =
      request_of(mcp::Era::modern, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  request.headers = core::HeaderFields{{config::kIdentityMark + user, "alice"}};
  const bool waits = GENERATE(true, false);
  prober.ask(waits ? &request : nullptr, [](const EraVerdict&, const core::Failure&) {});
  std::string bytes;
  std::vector<spawning::OwnedFd> fds;
  for (int i = 0; i < 3000 && fds.empty(); ++i) {
    run_for(stdio.loop);
    spawning::receive_message(stdio.other_end, &bytes, &fds);
  }
  REQUIRE_FALSE(fds.empty());
  const std::vector<std::string> environment = environment_in(fds);
  CHECK(std::count(environment.begin(), environment.end(), "USER_ID=alice") == (waits ? 1 : 0));
}
