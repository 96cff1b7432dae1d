#include <catch2/catch.hpp>

#include "operate/cli/cells.h"
#include "operate/cli/top_model.h"
#include "operate/cli/top_view.h"

using namespace lineward::cli;
using nlohmann::json;

namespace {

json flying(int number, json more = json::object()) {
  json out{{"id", "c" + std::to_string(number)},
           {"upstream", "github"},
           {"method", "tools/call"},
           {"target", "tool" + std::to_string(number)},
           {"client", "cursor 3.1"},
           {"state", "running"},
           {"age_ms", 1000 * number},
           {"left_ms", 60000 - 1000 * number}};
  out.update(more);
  return out;
}

void fill_model(TopModel& model, int calls) {
  model.use_status({{"version", "0.1.0"},
                    {"uptime_ms", 61000},
                    {"pid", 7},
                    {"url", "http://127.0.0.1:8000/mcp"},
                    {"in_flight", calls},
                    {"waiting", 0},
                    {"listens", 1},
                    {"sessions", 2},
                    {"connections", 3}});
  json list = json::array();
  for (int i = 1; i <= calls; ++i)
    list.push_back(flying(i));
  model.use_calls(std::move(list), calls);
}

std::optional<TopModel::Wish> press_keys(TopModel& model, const std::string& keys) {
  std::optional<TopModel::Wish> last;
  for (const char c : keys)
    last = c == '\r'     ? model.press({Key::enter, {}}, 10)
           : c == '\033' ? model.press({Key::escape, {}}, 10)
           : c == '\b'   ? model.press({Key::backspace, {}}, 10)
                         : model.press({Key::text, std::string(1, c)}, 10);
  return last;
}

std::string chosen_call(const TopModel& model) {
  return model.calls().empty() ? "" : (*model.calls()[model.chosen()])["id"].get<std::string>();
}

bool has_line(const std::vector<std::string>& lines, const std::string& text) {
  for (const std::string& line : lines) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the oldest call stands first, and the one that was chosen stays chosen") {
  TopModel model;
  fill_model(model, 3);
  CHECK(chosen_call(model) == "c3");
  press_keys(model, "j");
  CHECK(chosen_call(model) == "c2");
  model.use_calls(json::array({flying(2), flying(9), flying(8), flying(7)}), 4);
  CHECK(chosen_call(model) == "c2");
  CHECK(model.chosen() == 3);
  // It has ended: the call in its place.
  model.use_calls(json::array({flying(9), flying(8)}), 2);
  CHECK(chosen_call(model) == "c8");
  model.use_calls(json::array(), 0);
  CHECK(model.chosen() == 0);
  CHECK_FALSE(press_keys(model, "c"));
  CHECK(model.prompt() == TopModel::Prompt::none);
}

TEST_CASE("a cancel is asked for twice, and of the call that was asked about") {
  TopModel model;
  fill_model(model, 3);
  CHECK_FALSE(press_keys(model, "c"));
  CHECK(model.prompt() == TopModel::Prompt::cancel);
  model.use_calls(json::array({flying(1), flying(2)}), 2);  // c3 has ended meanwhile
  auto wish = press_keys(model, "y");
  REQUIRE(wish);
  CHECK(wish->kind == TopModel::Wish::Kind::cancel);
  CHECK(wish->call == "c3");
  press_keys(model, "c");
  CHECK_FALSE(press_keys(model, "n"));
  CHECK(model.message() == "c2 goes on");
  press_keys(model, "c");
  CHECK_FALSE(press_keys(model, "\r"));
}

TEST_CASE("a filter is typed, kept, changed and left") {
  TopModel model;
  fill_model(model, 3);
  press_keys(model, "/TOOL2");
  CHECK(model.calls().size() == 1);
  press_keys(model, "\b");
  CHECK(model.calls().size() == 3);
  press_keys(model, "3\r");
  CHECK(model.filter() == "TOOL3");
  CHECK(chosen_call(model) == "c3");
  press_keys(model, "/x\033");
  CHECK(model.filter() == "TOOL3");
  press_keys(model, "\033");
  CHECK(model.filter().empty());
  CHECK(model.calls().size() == 3);
  press_keys(model, "/q");
  CHECK(model.filter() == "q");  // it ends nothing here
}

TEST_CASE("sorting, the log, help and the end") {
  TopModel model;
  fill_model(model, 3);
  press_keys(model, "s");
  CHECK(order_name(model.order()) == "left");
  CHECK((*model.calls()[0])["id"] == "c3");
  press_keys(model, "ss");
  CHECK(order_name(model.order()) == "target");
  CHECK((*model.calls()[0])["id"] == "c1");
  press_keys(model, "l");
  CHECK(model.has_log());
  press_keys(model, "?");
  CHECK(model.has_help());
  CHECK_FALSE(press_keys(model, "q"));  // any key: back
  CHECK_FALSE(model.has_help());
  auto wish = press_keys(model, "q");
  REQUIRE(wish);
  CHECK(wish->kind == TopModel::Wish::Kind::quit);
}

TEST_CASE("calls in a second are known from the second look on, and begin anew with another process") {
  TopModel model;
  auto look = [&](int calls) {
    model.use_servers(json::array({{{"name", "github"}, {"counts", {{"calls", calls}}}}}), 500);
    return model.rate("github");
  };
  CHECK(look(100) < 0);
  CHECK(look(150) == Approx(100));
  CHECK(look(10) < 0);
  CHECK(look(10) == Approx(0));
}

TEST_CASE("the screen is as large as the terminal, whatever is on it") {
  TopModel model;
  fill_model(model, 200);
  json servers = json::array();
  for (int i = 0; i < 30; ++i)
    servers.push_back(
        {{"name", "server" + std::to_string(i)}, {"state", "ready"}, {"why", std::string(300, 'w')}});
  model.use_servers(servers, 0);
  json log = json::array();
  for (int i = 0; i < 50; ++i)
    log.push_back({{"line",
                    {{"time", "2026-07-28T10:00:00.000Z"},
                     {"level", "warn"},
                     {"event", "x"},
                     {"why", std::string(200, 'y')}}}});
  model.use_log(log);
  auto check = [&] {
    for (const size_t columns : {1u, 10u, 40u, 59u, 80u, 110u, 250u}) {
      for (const size_t rows : {1u, 2u, 5u, 12u, 24u, 100u}) {
        const auto lines = top_screen(model, {columns, rows}, false);
        CHECK(lines.size() == rows);
        for (const std::string& line : lines) {
          INFO(columns << "x" << rows << ": " << line);
          CHECK(width_of(line) <= columns);
        }
      }
    }
  };
  check();
  press_keys(model, "l");
  check();
  press_keys(model, "/" + std::string(90, 'z') + "\r");
  check();
  press_keys(model, "\033c");
  check();
  press_keys(model, "y?");
  check();
  press_keys(model, "x");
  model.show_story(std::string(3000, 's') + "\nmore\n");
  check();
  model.use_trouble(std::string(500, 't'));
  check();
}

TEST_CASE("what stands on the screen") {
  TopModel model;
  fill_model(model, 2);
  model.use_servers(
      json::array({{{"name", "github"}, {"state", "ready"}, {"in_flight", 2}, {"max_in_flight", 64}}}), 0);
  auto lines = top_screen(model, {80, 24}, false);
  CHECK(lines[0] == "lineward 0.1.0  serving  up 1m01s  pid 7  http://127.0.0.1:8000/mcp");
  CHECK(lines[1] == "2 calls  0 waiting  0/s  1 listen  2 sessions  3 connections");
  CHECK(lines[2].substr(0, 32) == "  github       ready        2/64");
  CHECK(lines[3].substr(0, 36) == "  CALL AGE   LEFT  TARGET   SERVER  ");
  CHECK(lines[4].substr(0, 36) == "> c2   2.0s  58s   tool2    github  ");
  CHECK(lines[4].find("running") != std::string::npos);
  CHECK(lines[5].substr(0, 4) == "  c1");
  CHECK(lines[23] == "1/2  s sort: age  c cancel  / filter  l log  ? keys  q quit");
  press_keys(model, "c");
  CHECK(top_screen(model, {80, 24}, false)[23] == "cancel c2? y/n  tool2 on github");
  lines = top_screen(model, {40, 24}, false);
  CHECK(lines[4].substr(0, 30) == "> c2   2.0s  tool2    github  ");
  CHECK(has_line(top_screen(model, {80, 24}, true), "\033[7m> c2"));
  model.use_trouble("7.0s old: nobody answers");
  CHECK(top_screen(model, {80, 24}, false)[1] == "! 7.0s old: nobody answers");
}

TEST_CASE("a gateway that has said nothing yet, or nonsense, makes a screen too") {
  TopModel model;
  CHECK(has_line(top_screen(model, {80, 24}, false), "no calls in flight"));
  model.use_status(json::array());
  model.use_servers("x", 10);
  model.use_calls({{"a", 1}}, -5);
  model.use_log(7);
  press_keys(model, "l");
  CHECK(top_screen(model, {80, 24}, true).size() == 24);
}

TEST_CASE("on a narrow screen the names of tools and servers are whole, and other columns go") {
  const std::string tool = "trigger-long-running-operation", name = "everything-of-the-reference";
  TopModel model;
  fill_model(model, 2);
  model.use_calls(json::array({flying(1, {{"target", tool}, {"upstream", name}}), flying(2)}), 2);
  model.use_servers(json::array({{{"name", name}, {"state", "ready"}}}), 0);
  for (const size_t columns : {80u, 120u, 250u}) {
    const auto lines = top_screen(model, {columns, 24}, false);
    INFO(columns);
    CHECK(has_line(lines, tool + " " + name + " "));
    CHECK(has_line(lines, "  " + name + " ready"));
  }
  CHECK(has_line(top_screen(model, {50, 24}, false), tool + " everyth…"));
  CHECK(has_line(top_screen(model, {38, 24}, false), "> c2   tool2"));
  CHECK(has_line(top_screen(model, {38, 24}, false), "  c1   " + tool));
}
