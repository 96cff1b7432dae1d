#include "operate/admin/metric_formats.h"

#include <catch2/catch.hpp>

#include "config/options/options.h"
#include "proxy/metrics/limits.h"

using namespace lineward;
using namespace lineward::admin;

namespace {

metrics::MetricSnapshot sample() {
  metrics::MetricSnapshot out;
  metrics::MetricFamily counter{
      "lineward_requests_total", "MCP requests, \"ended\".", metrics::MetricType::counter, {}};
  metrics::MetricPoint& one = counter.points.emplace_back();
  one.labels = {{"upstream", "a\"b\\c\nd"}};
  one.value = 7;
  metrics::MetricFamily gauge{"lineward_sessions", "Open sessions.", metrics::MetricType::gauge, {}};
  gauge.points.emplace_back().value = 2.5;
  metrics::MetricFamily histogram{"lineward_wait_seconds", "Waits.", metrics::MetricType::histogram, {}};
  metrics::MetricPoint& waits = histogram.points.emplace_back();
  waits.labels = {{"upstream", "x"}};
  waits.histogram.emplace(metrics::Buckets::mcp);
  waits.histogram->observe(0.03);
  waits.histogram->observe(1000.0);
  metrics::Exemplar exemplar;
  exemplar.set({std::string(32, 'a'), std::string(16, 'b')}, 0.03);
  exemplar.at = 1700000000.25;
  waits.exemplars.emplace_back(waits.histogram->bucket_of(0.03), exemplar);
  out.families = {counter, gauge, histogram};
  return out;
}

bool has(const std::string& text, std::string_view line) {
  return text.find("\n" + std::string(line) + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("a scraper gets OpenMetrics when it asks for it and likes nothing better") {
  const auto open = MetricFormat::open_metrics, classic = MetricFormat::classic;
  CHECK(format_for("") == classic);
  CHECK(format_for("*/*") == classic);
  CHECK(format_for("text/plain") == classic);
  CHECK(format_for("application/openmetrics-text") == open);
  CHECK(format_for("Application/OpenMetrics-Text; version=1.0.0; charset=utf-8") == open);
  // Prometheus.
  CHECK(format_for(
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
            "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.2,*/*;q=0.1") ==
        open);
  CHECK(format_for("text/plain;q=0.9, application/openmetrics-text;q=0.5") == classic);
  CHECK(format_for("application/openmetrics-text;q=0") == classic);
  CHECK(format_for("application/openmetrics-text;q=x") == classic);
  CHECK(format_for(",;,;;q=,,") == classic);
  CHECK(format_for("application/openmetrics-text;q=nan") == classic);
}

TEST_CASE("OpenMetrics: counters without their end, bounds in one spelling, exemplars, an end") {
  const std::string text = "\n" + metrics_text(sample(), MetricFormat::open_metrics);
  CHECK(has(text, "# HELP lineward_requests MCP requests, \\\"ended\\\"."));
  CHECK(has(text, "# TYPE lineward_requests counter"));
  CHECK(has(text, "lineward_requests_total{upstream=\"a\\\"b\\\\c\\nd\"} 7"));
  CHECK(has(text, "# TYPE lineward_sessions gauge"));
  CHECK(has(text, "lineward_sessions 2.5"));
  CHECK(has(text, "lineward_wait_seconds_bucket{upstream=\"x\",le=\"0.05\"} 1 # {trace_id=\"" +
                      std::string(32, 'a') + "\",span_id=\"" + std::string(16, 'b') +
                      "\"} 0.03 1700000000.250"));
  CHECK(has(text, "lineward_wait_seconds_bucket{upstream=\"x\",le=\"1.0\"} 1"));
  CHECK(has(text, "lineward_wait_seconds_bucket{upstream=\"x\",le=\"+Inf\"} 2"));
  CHECK(has(text, "lineward_wait_seconds_count{upstream=\"x\"} 2"));
  CHECK(text.substr(text.size() - 7) == "\n# EOF\n");
}

TEST_CASE("the classic form knows nothing of exemplars") {
  const std::string text = "\n" + metrics_text(sample(), MetricFormat::classic);
  CHECK(has(text, "# TYPE lineward_requests_total counter"));
  CHECK(has(text, "lineward_requests_total{upstream=\"a\\\"b\\\\c\\nd\"} 7"));
  CHECK(has(text, "lineward_wait_seconds_bucket{upstream=\"x\",le=\"1\"} 1"));
  CHECK(text.find("trace_id") == std::string::npos);
  CHECK(text.find("EOF") == std::string::npos);
}

TEST_CASE("limits are called as their options are") {
  for (std::string_view name : metrics::kLimitNames) {
    INFO(name);
    const bool known = name == "openFiles" || config::find_option(name) != nullptr ||
                       config::find_option("mcpServers.*." + std::string(name)) != nullptr;
    CHECK(known);
  }
}

TEST_CASE("a family of many samples is written in pieces, under one head") {
  metrics::MetricSnapshot metrics;
  metrics::MetricFamily& family = metrics.families.emplace_back();
  family.name = "lineward_many";
  family.help = "Many.";
  for (int i = 0; i < 450; ++i)
    family.points.push_back({{{"number", std::to_string(i)}}, 1.0, {}, {}});
  for (const MetricFormat format : {MetricFormat::classic, MetricFormat::open_metrics}) {
    MetricsWriter writer(metrics, format);
    size_t pieces = 0;
    while (writer.write_more())
      ++pieces;
    CHECK(pieces == 3);
    const std::string text = writer.take();
    auto count = [&text](std::string_view what) {
      size_t found = 0;
      for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++found;
      return found;
    };
    CHECK(count("# HELP") == 1);
    CHECK(count("# TYPE") == 1);
    CHECK(count("lineward_many{number=") == 450);
  }
}
