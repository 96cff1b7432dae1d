#include "operate/cli/list_text.h"

#include <catch2/catch.hpp>

using namespace lineward::cli;
using nlohmann::json;

namespace {

json busy_server() {
  return {{"name", "github"},
          {"kind", "stdio"},
          {"state", "backoff"},
          {"why", "exited with code 1"},
          {"era", "legacy"},
          {"in_flight", 3},
          {"max_in_flight", 64},
          {"waiting", 2},
          {"max_queue", 256},
          {"listens", 1},
          {"sessions", 2},
          {"breaker", {{"state", "open"}, {"left_ms", 29000}}},
          {"versions", json::array({"2025-11-25", "2025-06-18"})},
          {"processes",
           json::array(
               {{{"pid", 41207}, {"resident_bytes", 50331648}, {"cpu_seconds", 1.25}, {"open_fds", 21}}})},
          {"stderr", json::array({{{"time", "2026-07-28T10:00:00.000Z"}, {"line", "no token"}}})},
          {"counts",
           {{"calls", 120},
            {"ok", 110},
            {"timeouts", 4},
            {"cancelled", 6},
            {"starts", 3},
            {"starts_failed", 1},
            {"exits", 2}}}};
}

}  // namespace

TEST_CASE("bytes are short") {
  CHECK(short_bytes(0) == "0 B");
  CHECK(short_bytes(1023) == "1023 B");
  CHECK(short_bytes(1536) == "1.5 KiB");
  CHECK(short_bytes(48.0 * 1024 * 1024) == "48 MiB");
}

TEST_CASE("the table of servers") {
  json http{{"name", "search"}, {"kind", "http"}, {"state", "ready"}, {"server", "search 2"}};
  const std::string text = servers_table(json::array({busy_server(), http}), {});
  CHECK(text ==
        "SERVER  STATE    KIND   ERA     CALLS  WAITING  LISTENS  SESSIONS  PROCESSES  MEMORY  BREAKER    "
        "ENDED  TIMEOUTS  SAYS\n"
        "github  backoff  stdio  legacy  3/64   2        1        2         1          48 MiB  open, 29s  "
        "120    4         exited with code 1\n"
        "search  ready    http   -       0/0    0        0        0         -          -       -          0  "
        "    0         search 2\n");
}

TEST_CASE("all of one server") {
  CHECK(server_text(busy_server(), {}) ==
        "github  backoff  exited with code 1\n"
        "  kind      stdio  legacy  2025-11-25, 2025-06-18\n"
        "  now       3/64 calls, 2 of 256 waiting, 1 listen, 2 sessions\n"
        "  breaker   open, 29s\n"
        "  ended     120 calls: 110 ok, 4 timed out, 6 cancelled\n"
        "  starts    3, 1 failed, 2 exits\n"
        "  process   pid 41207  48 MiB  1.2s CPU  21 descriptors\n"
        "  stderr    2026-07-28T10:00:00.000Z  no token\n");
}

TEST_CASE("the effects of an action") {
  const ServerWork busy = work_of(busy_server());
  CHECK(busy.calls == 5);
  CHECK(work_text(busy) == "5 calls, 1 listen and 2 sessions");
  CHECK(ends_work("stop", false));
  CHECK(ends_work("restart", true));
  CHECK_FALSE(ends_work("restart", false));
  CHECK_FALSE(ends_work("drain", false));
  CHECK(action_effect("stop", false, busy) == "ends at once: 5 calls, 1 listen and 2 sessions");
  CHECK(action_effect("drain", false, busy) == "5 calls and 1 listen may go on; ends with it: 2 sessions");
  CHECK(action_effect("drain", false, {0, 0, 1}) == "ends with it: 1 session");
  CHECK(action_effect("stop", false, {}) == "nothing of it is in use");
  CHECK(action_done("restart", "github", false, {1, 0, 0}) ==
        "github has been restarted; 1 call may go on\n");
  CHECK(action_done("start", "github", false, {}) == "github is back in service\n");
}

TEST_CASE("sessions") {
  json one{
      {"session", "3f2a11cc"},
      {"upstream", "github"},
      {"client", "cursor 3.1"},
      {"revision", "2025-11-25"},
      {"age_ms", 242000},
      {"idle_ms", 800},
      {"calls", 2},
      {"principal", "ci"},
      {"connections", 1},
      {"stream", true},
      {"processes", json::array({{{"upstream", "github"}, {"pid", 4711}, {"resident_bytes", 39845888}}})}};
  json gone{{"session", "77aa00bb"}, {"upstream", "/mcp"}, {"revision", "2025-06-18"},
            {"age_ms", 90000},       {"idle_ms", 70000},   {"calls", 0},
            {"connections", 0},      {"stream", false},    {"abandoned_ms", 65000}};
  gone["processes"] = json::array({{{"pid", 1}, {"resident_bytes", 1048576}}, {{"pid", 2}}});
  CHECK(sessions_table(json::array({one, gone}), {}) ==
        "SESSION   UPSTREAM  CLIENT          REVISION    AGE    IDLE   CALLS  CONNECTIONS  STREAM      "
        "PROCESS\n"
        "3f2a11cc  github    ci, cursor 3.1  2025-11-25  4m02s  0.8s   2      1            open        "
        "pid 4711 38 MiB\n"
        "77aa00bb  /mcp      -               2025-06-18  1m30s  1m10s  0      0            gone 1m05s  "
        "2 processes 1.0 MiB\n");
}

TEST_CASE("listens are a tree, a server's listens together") {
  json filter{{"tools", true},
              {"prompts", false},
              {"resources", false},
              {"uris", json::array({"file:///a"})},
              {"uri_count", 3}};
  json first{{"id", "c901"},
             {"upstream", "github"},
             {"client", "inspector 2.12"},
             {"peer", "127.0.0.1:5000"},
             {"rpc_id", "7"},
             {"age_ms", 31 * 60000},
             {"events", 14},
             {"state", "listening"},
             {"filter", filter}};
  json second{{"id", "c902"}, {"upstream", "git"},   {"rpc_id", "\"x\""},       {"age_ms", 1000},
              {"events", 1},  {"state", "starting"}, {"filter", json::object()}};
  json third = first;
  third["id"] = "c903";
  third["filter"]["uri_count"] = 1;
  CHECK(listens_tree(json::array({first, second, third}), {}) ==
        "git\n"
        "└─ c902  unknown client  id \"x\"  since 1.0s  1 event  starting\n"
        "   └─ nothing\n"
        "github\n"
        "├─ c901  inspector 2.12 (127.0.0.1:5000)  id 7  since 31m  14 events\n"
        "│  ├─ the list of tools\n"
        "│  ├─ file:///a\n"
        "│  └─ and 2 URIs more\n"
        "└─ c903  inspector 2.12 (127.0.0.1:5000)  id 7  since 31m  14 events\n"
        "   ├─ the list of tools\n"
        "   └─ file:///a\n");
}

TEST_CASE("lists do no harm if their elements lack everything, or are something else") {
  const json odd = json::array({json::object(), 7, "x", nullptr, json::array()});
  CHECK(!servers_table(odd, {}).empty());
  CHECK(!sessions_table(odd, {}).empty());
  CHECK(!listens_tree(odd, {}).empty());
  CHECK(!server_text(json::object(), {}).empty());
  CHECK(!servers_table(json(nullptr), {}).empty());
}
