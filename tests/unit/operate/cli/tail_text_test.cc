#include "operate/cli/tail_text.h"

#include <catch2/catch.hpp>

using namespace lineward::cli;
using nlohmann::json;

namespace {

json told_call(json more = json::object()) {
  json out{{"id", "c9f2"},
           {"upstream", "github"},
           {"route", ""},
           {"method", "tools/call"},
           {"target", "search_code"},
           {"client", "claude-code 2.1"},
           {"state", "running"},
           {"age_ms", 120}};
  out.update(more);
  return out;
}

std::string shown_line(TailLines& lines, const std::string& type, const json& data) {
  return lines.text({type, "r-1", data}, "10:00:00.000");
}

}  // namespace

TEST_CASE("a line for each thing that happens to a call") {
  TailLines lines({}, {}, true, true);
  CHECK(shown_line(lines, "call.begin", told_call()) ==
        "10:00:00.000  begin     c9f2   github  tools/call search_code  from claude-code 2.1\n");
  CHECK(shown_line(lines, "call.phase", told_call({{"state", "running"}})).empty());
  CHECK(shown_line(lines, "call.phase", told_call({{"state", "queued"}, {"ahead", 2}})) ==
        "10:00:00.000  waits     c9f2   github  tools/call search_code  queued, 2 ahead\n");
  CHECK(shown_line(lines, "call.progress",
                   told_call({{"progress", {{"progress", 61}, {"total", 100}, {"message", "indexing"}}}})) ==
        "10:00:00.000  progress  c9f2   github  tools/call search_code  61/100 \"indexing\"\n");
  CHECK(shown_line(lines, "call.end", told_call({{"reason", "ok"}, {"bytes_out", 912}})) ==
        "10:00:00.000  end       c9f2   github  tools/call search_code  ok after 120ms, 912 bytes\n");
  CHECK(shown_line(
            lines, "call.end",
            told_call(
                {{"reason", "timeout_request"}, {"code", 504}, {"age_ms", 60000}, {"text", "no answer"}})) ==
        "10:00:00.000  end       c9f2   github  tools/call search_code  timeout_request after 1m00s, error "
        "504, 0 bytes  no answer\n");
  CHECK(shown_line(lines, "call.settled",
                   told_call({{"cancel", {{"outcome", "stopped"}, {"after_ms", 90}}}})) ==
        "10:00:00.000  settled   c9f2   github  tools/call search_code  its cancel: stopped after 90ms\n");
  CHECK(shown_line(lines, "listen.event",
                   told_call({{"method", "subscriptions/listen"}, {"listens", "tools"}, {"events", 3}})) ==
        "10:00:00.000  event     c9f2   github  subscriptions/listen tools  3 events\n");
}

TEST_CASE("a server's state is told when it changes, whatever else of it does") {
  TailLines lines({}, {}, true, true);
  json server{{"name", "github"}, {"state", "ready"}, {"in_flight", 0}};
  CHECK(shown_line(lines, "server.state", server) == "10:00:00.000  server    github  ready\n");
  server["in_flight"] = 7;
  CHECK(shown_line(lines, "server.state", server).empty());
  server["state"] = "backoff";
  server["why"] = "exited with code 1";
  CHECK(shown_line(lines, "server.state", server) ==
        "10:00:00.000  server    github  backoff  exited with code 1\n");
  CHECK(shown_line(lines, "server.gone", {{"name", "github"}}) ==
        "10:00:00.000  gone      github  a reload has taken it away\n");
}

TEST_CASE("lines of the log: what matters first, and nothing twice") {
  const json exit{{"time", "t"},       {"level", "warn"}, {"event", "upstream.exit"},
                  {"upstream", "git"}, {"pid", 7},        {"how", "exited with code 1"}};
  TailLines all({}, {}, true, true);
  CHECK(shown_line(all, "server.exit", exit) ==
        "10:00:00.000  exit      git  pid 7  how=\"exited with code 1\"\n");
  CHECK(shown_line(all, "log", exit).empty());
  TailLines log({}, {}, false, false);
  CHECK(shown_line(log, "log", exit) ==
        "10:00:00.000  warn      git  upstream.exit  pid 7  how=\"exited with code 1\"\n");
  const json end{{"level", "info"}, {"event", "call.end"}, {"bytes_in", 9}, {"call", "c1"}, {"reason", "ok"}};
  CHECK(shown_line(log, "log", end) == "10:00:00.000  info      call.end  call=c1 reason=ok bytes_in=9\n");
  CHECK(shown_line(all, "log", end).empty());
  const json said{
      {"level", "info"}, {"event", "upstream.stderr"}, {"upstream", "git"}, {"pid", 7}, {"line", "hello"}};
  CHECK(shown_line(all, "server.stderr", said) == "10:00:00.000  stderr    git  pid 7  hello\n");
}

TEST_CASE("filters: one server, or only what went wrong") {
  TailLines github({"github", false}, {}, true, true);
  CHECK(!shown_line(github, "call.begin", told_call()).empty());
  CHECK(shown_line(github, "call.begin", told_call({{"upstream", "git"}})).empty());
  CHECK(!shown_line(github, "call.begin", told_call({{"upstream", "git"}, {"route", "github"}})).empty());
  CHECK(shown_line(github, "server.state", {{"name", "git"}, {"state", "ready"}}).empty());
  TailLines errors({"", true}, {}, true, true);
  CHECK(shown_line(errors, "call.begin", told_call()).empty());
  CHECK(shown_line(errors, "call.end", told_call({{"reason", "ok"}})).empty());
  CHECK(shown_line(errors, "call.end", told_call({{"reason", "cancelled_client"}})).empty());
  CHECK(!shown_line(errors, "call.end", told_call({{"reason", "tool_error"}})).empty());
  CHECK(shown_line(errors, "server.state", {{"name", "git"}, {"state", "ready"}}).empty());
  CHECK(!shown_line(errors, "server.state", {{"name", "git"}, {"state", "open"}}).empty());
  CHECK(!shown_line(errors, "log", {{"level", "error"}, {"event", "x"}}).empty());
  CHECK(shown_line(errors, "log", {{"level", "info"}, {"event", "x"}}).empty());
}

TEST_CASE("what was lost is said, whatever is filtered") {
  TailLines errors({"github", true}, {}, true, true);
  CHECK(shown_line(errors, "lost", {{"reason", "restarted"}, {"groups", json::array()}}) ==
        "10:00:00.000  lost      another process answers now; what happened between is not known\n");
  CHECK(lost_text({{"reason", "overtaken"}, {"groups", {"calls", "log"}}}) ==
        "lost: events of calls, log are missing, they came faster than they were read");
  CHECK(lost_text({{"reason", "too_many"}, {"groups", {"calls"}}, {"events", 12}}) ==
        "lost: 12 events of calls were left out, there were too many in a second");
  CHECK(!lost_text(json::object()).empty());
}

TEST_CASE("as JSON each event is one line with its cursor, also what text leaves out") {
  const TailLines lines({}, {}, true, true);
  const std::string line = lines.json({"call.phase", "r-7", told_call()}, "2026-07-28T10:00:00.000Z");
  CHECK(line.find('\n') == line.size() - 1);
  const json read = json::parse(line);
  CHECK(read["event"] == "call.phase");
  CHECK(read["id"] == "r-7");
  CHECK(read["time"] == "2026-07-28T10:00:00.000Z");
  CHECK(read["data"]["id"] == "c9f2");
}

TEST_CASE("colours only where they are wanted, and events that lack everything") {
  TailLines colourful({}, {true, false, 0}, true, true);
  CHECK(shown_line(colourful, "call.end", told_call({{"reason", "ok"}})).find("\033[32mend") !=
        std::string::npos);
  TailLines lines({}, {}, true, true);
  for (const char* type : {"call.begin", "call.phase", "call.progress", "call.end", "call.settled",
                           "listen.event", "server.state", "server.exit", "session.open", "log", "other"})
    CHECK_NOTHROW(shown_line(lines, type, json::object()));
}
