#include "plugins/trace/trace_context.h"

#include <catch2/catch.hpp>

#include "plugins/trace/trace_options.h"

using namespace lineward;
using namespace lineward::plugins;

TEST_CASE("traceparents are read strictly") {
  const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  auto context = parse_traceparent(good);
  REQUIRE(context);
  CHECK(context->sampled);
  CHECK(context->header() == good);
  CHECK_FALSE(parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02")->sampled);
  CHECK(parse_traceparent("01" + good.substr(2) + "-more"));
  for (const std::string& bad :
       {std::string(), good + "-x", good + "x", "ff" + good.substr(2), "0G" + good.substr(2), good.substr(1),
        "00-" + std::string(32, '0') + good.substr(35), good.substr(0, 36) + std::string(16, '0') + "-01",
        "00_" + good.substr(3), "01" + good.substr(2) + "more"})
    CHECK_FALSE(parse_traceparent(bad));
}

TEST_CASE("ids are new each time, and a trace is sampled everywhere or nowhere") {
  CHECK(new_trace_id() != new_trace_id());
  CHECK(parse_traceparent(TraceContext{new_trace_id(), new_span_id(), true}.header()));
  int in = 0;
  for (int i = 0; i < 10000; ++i)
    in += in_sample(new_trace_id(), 0.1) ? 1 : 0;
  CHECK(in > 800);
  CHECK(in < 1200);
  CHECK(in_sample("ffffffffffffffffffffffffffffffff", 1));
  CHECK_FALSE(in_sample("00000000000000000000000000000001", 0));
}

TEST_CASE("options win over the environment, samplers are OpenTelemetry's") {
  auto read = [](std::map<std::string, std::string> environment, std::string endpoint = {}) {
    config::PluginValues values = config::plugin_defaults(trace_spec());
    config::Value value;
    value.text = endpoint;
    values.set("endpoint", value);
    auto options = read_trace_options(values, [&](const char* name) -> const char* {
      auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    });
    REQUIRE(options);
    return *options;
  };
  CHECK(read({}).exporter.url.empty());
  CHECK(read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1/"}}).exporter.url == "http://a:1/v1/traces");
  CHECK(read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1"}}, "http://b").exporter.url == "http://b");
  CHECK(read({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1"}, {"OTEL_SDK_DISABLED", "true"}})
            .exporter.url.empty());
  auto sampled =
      read({{"OTEL_TRACES_SAMPLER", "parentbased_traceidratio"}, {"OTEL_TRACES_SAMPLER_ARG", "0.25"}});
  CHECK(sampled.ratio == 0.25);
  CHECK(sampled.follow_parent);
  auto off = read({{"OTEL_TRACES_SAMPLER", "always_off"}});
  CHECK(off.ratio == 0);
  CHECK_FALSE(off.follow_parent);
}
