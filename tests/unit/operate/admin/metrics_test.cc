#include <catch2/catch.hpp>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "foundation/log/sanitize.h"
#include "operate/admin/control_json.h"
#include "operate/admin/metric_table.h"
#include "operate/admin/process_info.h"
#include "plugins/registry.h"
#include "plugins/telemetry/metric_names.h"

#include <unistd.h>
#include <nlohmann/json.hpp>

using namespace lineward;
using namespace lineward::admin;

TEST_CASE("docs/metrics.md is what the table says") {
  std::ifstream file(std::string(LINEWARD_SOURCE_DIR) + "/docs/metrics.md");
  std::stringstream text;
  text << file.rdbuf();
  CHECK(text.str() == metrics_page(plugins::registry()));  // lineward metrics > docs/metrics.md
}

TEST_CASE("names are valid, unique and say their unit") {
  std::set<std::string_view> names;
  const std::regex plain("[a-z][a-z0-9_]*");
  for (const MetricRow& one : metric_rows()) {
    INFO(one.name);
    CHECK(names.insert(one.name).second);
    CHECK(std::regex_match(std::string(one.name), plain));
    bool total = one.name.size() > 6 && one.name.substr(one.name.size() - 6) == "_total";
    CHECK(total == (one.type == MetricType::counter));
    if (one.type == MetricType::histogram) CHECK(one.name.find("_seconds") != std::string_view::npos);
    CHECK(!one.help.empty());
    std::string labels(one.labels);
    CHECK((labels.empty() || std::regex_match(labels, std::regex("[a-z_]+( [a-z_]+)*"))));
  }
}

namespace {

// As a collector makes Prometheus's names of OpenTelemetry's.
std::string prometheus_name(const plugins::OtlpMetricName& named, MetricType type) {
  std::string out = named.name;
  for (char& c : out)
    c = c == '.' ? '_' : c;
  if (named.unit == "s") out += "_seconds";
  if (named.unit == "By") out += "_bytes";
  return type == MetricType::counter ? out + "_total" : out;
}

}  // namespace

TEST_CASE("a collector that makes Prometheus's names again gets those of /metrics") {
  for (const MetricRow& one : metric_rows()) {
    INFO(one.name);
    CHECK(prometheus_name(plugins::otlp_metric_name(one.name, one.type), one.type) == one.name);
  }
  CHECK(plugins::otlp_metric_name("mcp_server_operation_duration_seconds", MetricType::histogram).name ==
        "mcp.server.operation.duration");
  CHECK(plugins::otlp_metric_name("lineward_requests_total", MetricType::counter).name ==
        "lineward.requests");
  CHECK(plugins::otlp_attribute_name("gen_ai_tool_name") == "gen_ai.tool.name");
  CHECK(plugins::otlp_attribute_name("upstream") == "upstream");
}

TEST_CASE("what is shown on a terminal holds nothing that a terminal obeys") {
  CHECK(sanitize("plain ä ☃") == "plain ä ☃");
  CHECK(sanitize("a\033[31mb\nc\td\x7f") == "a?[31mb?c?d?");
  CHECK(sanitize("a\xc2\x9b"
                 "31m") == "a?31m");
  CHECK(sanitize("\xe2\x80\xae"
                 "abc") == "?abc");
  CHECK(sanitize("äääää", 5) == "ää…");
  CHECK(sanitize("abcdef", 3) == "abc…");
}

TEST_CASE("a client is its name and version") {
  CHECK(client_label(R"({"name":"claude-code","version":"2.1"})") == "claude-code 2.1");
  CHECK(client_label(R"({"name":"x\u001b[2J"})") == "x?[2J");
  CHECK(client_label("").empty());
  CHECK(client_label("[1]").empty());
}

TEST_CASE("a call in flight as JSON: progress, listens, state") {
  exchange::CallView call;
  call.id = "c1";
  call.method = "tools/call";
  call.target = "https://u:p@h/x";
  call.session = "a-session-id";
  call.state = exchange::CallState::running;
  call.progress = R"({"progressToken":3,"progress":61,"total":1e400,"message":"a\nb"})";
  auto shown = call_json(call);
  CHECK(shown["progress"]["progress"] == 61);
  CHECK(shown["progress"]["message"] == "a?b");
  CHECK(shown["target"] == "https://…@h/x");
  CHECK(shown.dump().find("a-session-id") == std::string::npos);
  CHECK(!shown.contains("left_ms"));
  call.listens = R"({"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":["a","b"]})";
  CHECK(call_json(call)["listens"] == "tools, 2 uris");
  call.progress = "{broken";
  CHECK(call_json(call)["progress"]["progress"].is_null());
}

TEST_CASE("/proc tells about this process") {
  ProcessInfo info;
  REQUIRE(read_tree(getpid(), info));
  CHECK(info.resident_bytes > 1e5);
  CHECK(info.open_fds >= 3);
  CHECK(!read_process(-1, info));
}
