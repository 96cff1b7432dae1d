#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "foundation/log/redaction.h"
#include "plugins/telemetry/otlp_log_record.h"
#include "plugins/telemetry/otlp_metrics_json.h"

using namespace lineward;
using namespace lineward::plugins;
using metrics::MetricType;
using nlohmann::json;

TEST_CASE("metrics as OTLP's JSON") {
  metrics::MetricSnapshot metrics;
  metrics.started = 1700000000;
  metrics::MetricFamily counter{"lineward_requests_total", "Ended.", MetricType::counter, {}};
  counter.points.push_back({{{"upstream", "a\"b"}}, 7, {}, {}});
  metrics::MetricFamily histogram{
      "mcp_server_operation_duration_seconds", "Took.", MetricType::histogram, {}};
  metrics::MetricPoint& took = histogram.points.emplace_back();
  took.labels = {{"mcp_method_name", "tools/call"}};
  took.histogram.emplace();
  took.histogram->observe(0.03);
  metrics::Exemplar exemplar;
  exemplar.set({std::string(32, 'a'), std::string(16, 'b')}, 0.03);
  took.exemplars.emplace_back(2, exemplar);
  metrics::MetricFamily many{"lineward_sessions", "Open.", MetricType::gauge, {}};
  many.points.resize(kPointsInOne + 1);
  metrics.families = {counter, histogram, many};

  auto texts = otlp_metrics_json(metrics, 1700000060000000000);
  REQUIRE(texts.size() == 4);
  json sum = json::parse(texts[0]);
  CHECK(sum["name"] == "lineward.requests");
  CHECK(sum["unit"] == "1");
  CHECK(sum["sum"]["isMonotonic"] == true);
  CHECK(sum["sum"]["aggregationTemporality"] == 2);
  const json& point = sum["sum"]["dataPoints"][0];
  CHECK(point["asDouble"] == 7);
  CHECK(point["startTimeUnixNano"] == "1700000000000000000");
  CHECK(point["timeUnixNano"] == "1700000060000000000");
  CHECK(point["attributes"][0]["key"] == "upstream");
  CHECK(point["attributes"][0]["value"]["stringValue"] == "a\"b");
  json durations = json::parse(texts[1]);
  CHECK(durations["unit"] == "s");
  const json& data = durations["histogram"]["dataPoints"][0];
  CHECK(data["count"] == "1");
  CHECK(data["bucketCounts"].size() == data["explicitBounds"].size() + 1);
  CHECK(data["bucketCounts"][2] == "1");
  CHECK(data["attributes"][0]["key"] == "mcp.method.name");
  CHECK(data["exemplars"][0]["traceId"] == std::string(32, 'a'));
  CHECK(json::parse(texts[2])["gauge"]["dataPoints"].size() == kPointsInOne);
  CHECK(json::parse(texts[3])["gauge"]["dataPoints"].size() == 1);
}

TEST_CASE("a log record has its trace, and its values as they may be shown") {
  const std::string trace(32, 'a'), span(16, 'b');
  redaction::use_secrets({"t0psecret!"});
  json record = json::parse(otlp_log_record(log::Level::warn, "call.end",
                                            {{"upstream", "github"},
                                             {"why", "a\033[31mb\nc \xff"},
                                             {"line", "key t0psecret!"},
                                             {"dur_ms", 12},
                                             {"empty", ""},
                                             {"trace_id", trace},
                                             {"span_id", span}},
                                            5));
  CHECK(record["severityText"] == "WARN");
  CHECK(record["severityNumber"] == 13);
  CHECK(record["timeUnixNano"] == "5");
  CHECK(record["traceId"] == trace);
  CHECK(record["spanId"] == span);
  std::map<std::string, json> attributes;
  for (const auto& one : record["attributes"])
    attributes[one["key"]] = one["value"];
  CHECK(attributes["event.name"]["stringValue"] == "call.end");
  CHECK(attributes["upstream"]["stringValue"] == "github");
  CHECK(attributes["dur_ms"]["intValue"] == "12");
  CHECK(attributes["why"]["stringValue"].get<std::string>().find('\033') == std::string::npos);
  CHECK(attributes["why"]["stringValue"].get<std::string>().find('\n') == std::string::npos);
  CHECK(attributes["line"]["stringValue"] == "key …");
  CHECK(record["body"]["stringValue"].get<std::string>().find("t0psecret") == std::string::npos);
  CHECK(attributes.count("empty") == 0);
  CHECK(attributes.count("trace_id") == 0);
  CHECK(record["body"]["stringValue"].get<std::string>().rfind("call.end upstream=github", 0) == 0);
  // An invalid id stays as it is.
  json odd = json::parse(otlp_log_record(log::Level::info, "x", {{"trace_id", "no"}}, 5));
  CHECK_FALSE(odd.contains("traceId"));
}
