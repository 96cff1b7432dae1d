#include "operate/cli/control_text.h"

#include <catch2/catch.hpp>

using namespace lineward::cli;
using nlohmann::json;

TEST_CASE("times are short") {
  CHECK(short_time(0) == "0.0s");
  CHECK(short_time(812) == "0.8s");
  CHECK(short_time(29000) == "29s");
  CHECK(short_time(242000) == "4m02s");
  CHECK(short_time(31 * 60000) == "31m");
  CHECK(short_time(184 * 60000) == "3h04m");
  CHECK(short_time(76ll * 3600000) == "3d04h");
}

TEST_CASE("the table of calls") {
  json calls = json::array();
  calls.push_back({{"id", "c9f2"},
                   {"age_ms", 242000},
                   {"left_ms", 58000},
                   {"upstream", "github"},
                   {"method", "tools/call"},
                   {"target", "search_code"},
                   {"client", "claude-code 2.1"},
                   {"state", "running"},
                   {"progress", {{"progress", 61}, {"total", 100}, {"message", "indexing"}}}});
  calls.push_back({{"id", "c9f7"},
                   {"age_ms", 800},
                   {"left_ms", 29000},
                   {"upstream", "git"},
                   {"method", "tools/call"},
                   {"target", "git_log"},
                   {"client", "cursor 3.1"},
                   {"state", "queued"},
                   {"ahead", 2}});
  calls.push_back({{"id", "c901"},
                   {"age_ms", 31 * 60000},
                   {"upstream", "github"},
                   {"method", "subscriptions/listen"},
                   {"listens", "tools, 2 uris"},
                   {"target", ""},
                   {"client", "inspector 2.12"},
                   {"state", "listening"},
                   {"events", 14}});
  CHECK(calls_table(calls, {}) ==
        "CALL  AGE    LEFT  TARGET         UPSTREAM  METHOD                CLIENT           STATE\n"
        "c9f2  4m02s  58s   search_code    github    tools/call            claude-code 2.1  running 61/100 "
        "\"indexing\"\n"
        "c9f7  0.8s   29s   git_log        git       tools/call            cursor 3.1       queued, 2 ahead\n"
        "c901  31m    -     tools, 2 uris  github    subscriptions/listen  inspector 2.12   listening, 14 "
        "events\n");
  Style narrow;
  narrow.width = 60;
  CHECK(calls_table(calls, narrow).find("indexing") == std::string::npos);
}

TEST_CASE("where the terminal is narrow other columns go, and the names of tools and servers stay whole") {
  const std::string tool = "trigger-long-running-operation";
  json calls = json::array();
  calls.push_back({{"id", "c9f2"},
                   {"age_ms", 242000},
                   {"left_ms", 58000},
                   {"upstream", "everything"},
                   {"method", "tools/call"},
                   {"target", tool},
                   {"client", "claude-code 2.1"},
                   {"state", "running"}});
  calls.push_back({{"id", "c9f3"},
                   {"age_ms", 1000},
                   {"upstream", "everything"},
                   {"method", "tools/list"},
                   {"client", "cursor"},
                   {"state", "running"}});
  Style style;
  for (const size_t width : {120u, 80u, 62u}) {
    style.width = width;
    const std::string text = calls_table(calls, style);
    INFO(text);
    CHECK(text.find(tool) != std::string::npos);
    CHECK(text.find("everything") != std::string::npos);
    CHECK(text.find("tools/list") != std::string::npos);
  }
  style.width = 80;
  CHECK(calls_table(calls, style) ==
        "CALL  AGE    LEFT  TARGET                          UPSTREAM    STATE\n"
        "c9f2  4m02s  58s   trigger-long-running-operation  everything  running\n"
        "c9f3  1.0s   -     tools/list                      everything  running\n");
  // Into a pipe or a file nothing is cut.
  calls[0]["client"] = std::string(90, 'c');
  calls[0]["target"] = std::string(90, 't');
  const std::string piped = calls_table(calls, {});
  CHECK(piped.find(std::string(90, 'c')) != std::string::npos);
  CHECK(piped.find(std::string(90, 't')) != std::string::npos);
}

TEST_CASE("what a cancel did") {
  json ended{{"id", "c9f2"},
             {"age_ms", 243000},
             {"code", 499},
             {"upstream", "github"},
             {"cancel", {{"told", "notifications/cancelled"}, {"outcome", "stopped"}, {"after_ms", 120}}}};
  CHECK(cancel_line(ended, 5000) ==
        "c9f2 cancelled after 4m03s: client got error 499; github was told (notifications/cancelled) and "
        "stopped in "
        "120ms\n");
  ended["cancel"]["told"] = "not_sent";
  CHECK(cancel_line(ended, 5000).find("github had not been sent it") != std::string::npos);
  ended["cancel"]["told"] = "others_wait";
  CHECK(cancel_line(ended, 5000).find("github was not told: others wait for the same answer") !=
        std::string::npos);
  ended["cancel"]["told"] = "servers_behind";
  CHECK(cancel_line(ended, 5000).find("the servers behind github were told") != std::string::npos);
  ended["cancel"] = nullptr;
  CHECK(cancel_line(ended, 5000).find("github has not settled it yet") != std::string::npos);
  ended["cancel"] = {{"told", "notifications/cancelled"}, {"outcome", "ignored"}, {"after_ms", 5000}};
  CHECK(cancel_line(ended, 5000).find("nothing more within cancelGrace (5.0s)") != std::string::npos);
}

TEST_CASE("answers that lack everything do no harm") {
  CHECK(!call_text(json::object(), {}).empty());
  CHECK(!status_screen({{"upstreams", json::array()}}, {}).empty());
  CHECK(!status_screen({{"upstreams", json::array({json::object(), 7})}}, {}).empty());
  CHECK(!status_screen(json::object(), {}).empty());
  CHECK(!calls_table(json::array({json::object()}), {}).empty());
}

TEST_CASE("the plan of a reload") {
  json report = {{"changes", json::array()}, {"unchanged", 3}, {"in_flight", 5}, {"took_ms", 42}};
  report["changes"].push_back({{"mark", "+"}, {"name", "time"}, {"what", "new"}, {"effect", ""}});
  report["changes"].push_back({{"mark", "~"},
                               {"name", "github"},
                               {"what", "timeouts.request 30s → 2m"},
                               {"effect", "no restart needed"}});
  CHECK(reload_text(report) ==
        "  + time     new\n"
        "  ~ github   timeouts.request 30s → 2m   no restart needed\n"
        "  = 3 unchanged\n"
        "reloaded in 42ms; 5 calls in flight untouched\n");
  report["dryRun"] = true;
  CHECK(reload_text(report).find("nothing was changed (--dry-run)\n") != std::string::npos);
}

TEST_CASE("the time line of a call") {
  json call{
      {"timeline", json::array({{{"step", "arrived"}, {"at_ms", 0}, {"times", 1}},
                                {{"step", "progress"}, {"at_ms", 120}, {"times", 9}, {"last_ms", 4500}}})}};
  CHECK(timeline_text(call) ==
        "  timeline  arrived        +0ms\n"
        "            progress       +120ms to +4.5s, 9 times\n");
  CHECK(timeline_text(json::object()).empty());
}
