#include "plugins/common/otlp_exporter.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "plugins/common/otlp_options.h"
#include "unit/plugins/common/fake_host.h"

using namespace lineward;
using namespace lineward::plugins;
using nlohmann::json;

namespace {

OtlpExporter::Options options(size_t batch, size_t queue) {
  OtlpExporter::Options out;
  out.url = "http://127.0.0.1:4318/v1/logs";
  out.resource = "[]";
  out.batch = batch;
  out.queue = queue;
  return out;
}

json items_of(const test::FakeHost::Asked& asked) {
  return json::parse(asked.request.body)["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
}

}  // namespace

TEST_CASE("a batch goes out when it is full, one at a time, and what is too much is counted") {
  test::FakeHost host;
  const uint64_t held = MemoryCharge::total(Held::telemetry);
  OtlpExporter exporter(host, "otlpLogs", OtlpSignal::logs, options(2, 4));
  exporter.add(R"({"n":1})");
  CHECK(host.asked.empty());
  for (const char* item : {R"({"n":2})", R"({"n":3})", R"({"n":4})", R"({"n":5})"})
    exporter.add(item);
  REQUIRE(host.asked.size() == 1);
  CHECK(items_of(host.asked.front()) == json::parse(R"([{"n":1},{"n":2}])"));
  CHECK(exporter.numbers().dropped == 1);
  CHECK(exporter.queued() == 4);
  CHECK(MemoryCharge::total(Held::telemetry) == held + 4 * 7);
  host.answer(200, "{}");
  CHECK(exporter.numbers().sent == 2);
  REQUIRE(host.asked.size() == 1);
  CHECK(items_of(host.asked.front()) == json::parse(R"([{"n":3},{"n":4}])"));
  host.answer(400, "");  // it will never be taken
  CHECK(exporter.numbers().dropped == 3);
  CHECK(exporter.queued() == 0);
  CHECK(MemoryCharge::total(Held::telemetry) == held);
}

TEST_CASE("what a collector took and refused is told apart, garbage is no refusal") {
  test::FakeHost host;
  OtlpExporter exporter(host, "otlpLogs", OtlpSignal::logs, options(2, 4));
  auto send = [&](std::string answer) {
    exporter.add("{}");
    exporter.add("{}");
    REQUIRE(host.asked.size() == 1);
    host.answer(200, std::move(answer));
  };
  send(R"({"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"no"}})");
  CHECK(exporter.numbers().sent == 1);
  CHECK(exporter.numbers().dropped == 1);
  send(R"({"partialSuccess":{"rejectedLogRecords":99999999}})");
  CHECK(exporter.numbers().sent == 1);
  CHECK(exporter.numbers().dropped == 3);
  for (const char* odd :
       {"", "no", R"({"partialSuccess":7})", R"({"partialSuccess":{"rejectedLogRecords":"-"}})"})
    send(odd);
  CHECK(exporter.numbers().sent == 9);
  CHECK(exporter.numbers().dropped == 3);
}

TEST_CASE("a collector that is busy gets the same again after a pause, and nothing meanwhile") {
  test::FakeHost host;
  OtlpExporter exporter(host, "otlpLogs", OtlpSignal::logs, options(1, 4));
  exporter.add("{}");
  host.answer(503, "");
  exporter.add("{}");
  CHECK(host.asked.empty());
  CHECK(exporter.queued() == 2);
  CHECK(exporter.numbers().failed == 1);
  CHECK(exporter.numbers().dropped == 0);
}

TEST_CASE("a pause doubles, or is what the collector wishes within bounds; what ends does not wait for it") {
  using namespace std::chrono_literals;
  const std::vector<std::chrono::milliseconds> doubled{1s, 2s, 4s, 8s, 16s, 30s};
  for (int tries = 1; tries <= 6; ++tries)
    CHECK(OtlpExporter::pause_after(tries, {}) == doubled[static_cast<size_t>(tries) - 1]);
  CHECK(OtlpExporter::pause_after(1, 60s) == 60s);
  CHECK(OtlpExporter::pause_after(6, 0s) == 1s);
  CHECK(OtlpExporter::pause_after(1, 4294967295s) == 5min);
  test::FakeHost host;
  OtlpExporter exporter(host, "otlpLogs", OtlpSignal::logs, options(1, 4));
  exporter.add("{}");
  host.answer(503, "");
  CHECK(host.asked.empty());
  exporter.finish();  // a reload: there is time
  CHECK(host.asked.empty());
  exporter.finish_now();
  REQUIRE(host.asked.size() == 1);
  exporter.add("{}");
  host.answer(503, "");  // it was the last try
  REQUIRE(host.asked.size() == 1);
  host.answer(200, "{}");
  CHECK(exporter.queued() == 0);
  CHECK(exporter.numbers().sent == 1);
  CHECK(exporter.numbers().dropped == 1);
}

TEST_CASE("bytes are bounded too, in the queue and in one request") {
  test::FakeHost host;
  OtlpExporter exporter(host, "otlpLogs", OtlpSignal::logs, options(100, 1000));
  const std::string large = "\"" + std::string(1 << 20, 'x') + "\"";
  for (int i = 0; i < 30; ++i)
    exporter.add(large);
  CHECK(exporter.queued() == 15);
  CHECK(exporter.numbers().dropped == 15);
  for (int i = 0; i < 85; ++i)
    exporter.add("{}");
  REQUIRE(host.asked.size() == 1);
  CHECK(host.asked.front().request.body.size() < OtlpExporter::kMaxBatchBytes + large.size() + 1000);
}

TEST_CASE("variables of the signal win over those of all, options over both") {
  const std::map<std::string, std::string> variables{
      {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://a:1"},
      {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://b/logs"},
      {"OTEL_EXPORTER_OTLP_HEADERS", "k=all"},
      {"OTEL_EXPORTER_OTLP_METRICS_HEADERS", "k=m%20n"},
      {"OTEL_EXPORTER_OTLP_TIMEOUT", "1500"},
      {"OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", "soon"},
      {"OTEL_TRACES_EXPORTER", "none"},
      {"OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=one,b\"ad=x,k8s.pod.name=p"}};
  const Environment environment = [&](const char* name) -> const char* {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  auto read = [&](OtlpSignal signal) {
    config::PluginSpec spec{"x", "", false, otlp_option_rows(signal), {}};
    auto out = read_otlp_options(signal, config::plugin_defaults(spec), environment);
    REQUIRE(out);
    return *out;
  };
  CHECK(read(OtlpSignal::metrics).url == "http://a:1/v1/metrics");
  CHECK(read(OtlpSignal::metrics).headers == core::HeaderFields{{"k", "m n"}});
  CHECK(read(OtlpSignal::logs).url == "http://b/logs");
  CHECK(read(OtlpSignal::logs).headers == core::HeaderFields{{"k", "all"}});
  CHECK(read(OtlpSignal::logs).timeout == std::chrono::milliseconds(1500));
  CHECK(read(OtlpSignal::spans).url.empty());
  const std::string resource = read(OtlpSignal::logs).resource;
  CHECK(json::parse(resource).size() == 3);
  CHECK(resource.find("lineward") != std::string::npos);
}
