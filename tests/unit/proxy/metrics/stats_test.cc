#include "proxy/metrics/stats.h"

#include <catch2/catch.hpp>

#include <set>

using namespace lineward;
using namespace lineward::metrics;
using mcp::EndReason;
using mcp::Method;

TEST_CASE("a histogram counts each value in the first bucket that holds it") {
  Histogram histogram(Buckets::precise);
  histogram.observe(0.00001);  // a bound belongs to its bucket
  histogram.observe(0.000011);
  histogram.observe(0.05);
  histogram.observe(1e9);
  histogram.observe(-1.0);  // a clock went back
  CHECK(histogram.count() == 5);
  CHECK(histogram.in_bucket(0) == 2);
  CHECK(histogram.in_bucket(1) == 1);
  CHECK(histogram.in_bucket(kPreciseBounds.size() - 1) == 1);
  CHECK(histogram.in_bucket(kPreciseBounds.size()) == 1);
  CHECK(histogram.sum() == Approx(1e9 + 0.050021));
}

TEST_CASE("bounds ascend and fit into a histogram") {
  for (Buckets buckets : {Buckets::mcp, Buckets::http, Buckets::precise}) {
    auto all = bounds(buckets);
    CHECK(all.size() < Histogram::kMaxBuckets);
    for (size_t i = 1; i < all.size(); ++i)
      CHECK(all[i - 1] < all[i]);
  }
}

TEST_CASE("names are those that were learnt, the first 200; all others are one") {
  NameTable names;
  CHECK(names.find("") == NameTable::kNone);
  CHECK(names.find("a") == NameTable::kOther);
  names.learn("a");
  names.learn("a");
  CHECK(names.size() == 1);
  CHECK(names.name(names.find("a")) == "a");
  for (int i = 0; i < 1000; ++i)
    names.learn("tool_" + std::to_string(i));
  CHECK(names.size() == 200);
  CHECK(names.name(names.find("tool_198")) == "tool_198");
  CHECK(names.find("tool_199") == NameTable::kOther);
  CHECK(names.name(NameTable::kOther) == "_other");
  CHECK(names.name(NameTable::kNone).empty());
  NameTable strict;
  strict.learn(std::string(129, 'x'));
  strict.learn("");
  CHECK(strict.size() == 0);
}

TEST_CASE("what has the same labels is one series; there is a bound") {
  OperationSeries series;
  Operation operation;
  operation.method = Method::tools_call;
  series.observe(operation, 1);
  operation.reason = EndReason::input_required;
  series.observe(operation, 1);
  CHECK(series.size() == 1);
  for (EndReason reason : {EndReason::timeout_request, EndReason::timeout_queue, EndReason::timeout_park}) {
    operation.reason = reason;
    series.observe(operation, 1);
  }
  CHECK(series.size() == 2);
  operation.reason = EndReason::tool_error;
  operation.code = code_slot(-32601);
  series.observe(operation, 1);
  operation.code = code_slot(1);
  series.observe(operation, 1);
  CHECK(series.size() == 3);
  std::set<std::string> types;
  series.for_each([&](const Operation& one, const Histogram& histogram) {
    CHECK(one.method == Method::tools_call);
    CHECK(histogram.count() >= 2);
    types.insert(error_type(one));
  });
  CHECK(types == std::set<std::string>{"", "timeout", "tool_error"});

  OperationSeries many;
  for (int method = 0; method <= static_cast<int>(Method::other); ++method) {
    for (int name = 0; name <= 201; ++name) {
      for (int code = 0; code < 15; ++code) {
        many.observe({static_cast<Method>(method), static_cast<uint8_t>(name), 1, EndReason::rpc_error,
                      static_cast<uint8_t>(code)},
                     1);
      }
    }
  }
  CHECK(many.size() <= OperationSeries::kMaxSeries + 2 * (static_cast<size_t>(Method::other) + 1));
}

TEST_CASE("every label value survives its packing") {
  for (size_t reason = 0; reason < static_cast<size_t>(EndReason::count_); ++reason) {
    Operation in{Method::prompts_get, 201, 6, static_cast<EndReason>(reason), 14};
    OperationSeries series;
    series.observe(in, 1);
    series.for_each([&](const Operation& out, const Histogram&) {
      CHECK(out.method == in.method);
      CHECK(out.name == in.name);
      CHECK(out.revision == in.revision);
      CHECK(error_type(out) == error_type(in));
      CHECK(status_code(out) == status_code(in));
    });
  }
}

TEST_CASE("codes and revisions that are not known are one value each") {
  CHECK(code_label(code_slot(-32601)) == "-32601");
  CHECK(code_label(code_slot(4711)) == "_other");
  CHECK(revision_label(revision_slot("2026-07-28")) == "2026-07-28");
  CHECK(revision_label(revision_slot("2031-01-01")) == "_other");
  CHECK(revision_label(revision_slot("")).empty());
}

TEST_CASE("HTTP methods that are not known are one value") {
  HttpSeries series;
  series.observe("GET", 200, 1);
  series.observe("BREW", 405, 1);
  series.observe("PROPFIND", 405, 1);
  std::set<std::string> methods;
  series.for_each(
      [&](std::string_view method, int, const Histogram&) { methods.insert(std::string(method)); });
  CHECK(methods == std::set<std::string>{"GET", "_OTHER"});
}

TEST_CASE("instance numbers are used again") {
  UpstreamStats stats("s");
  CHECK(stats.take_instance() == 0);
  CHECK(stats.take_instance() == 1);
  stats.free_instance(0);
  CHECK(stats.take_instance() == 0);
  CHECK(stats.take_instance() == 2);
}

TEST_CASE("a call of a sampled trace is its bucket's exemplar, others leave it alone") {
  const std::string trace(32, 'a'), later(32, 'b'), span(16, 'c');
  OperationSeries series;
  Operation operation;
  operation.method = Method::tools_call;
  auto exemplars = [&] {
    const OperationSeries::Exemplars* found = nullptr;
    series.for_each_with_exemplars([&](const Operation&, const Histogram&, const auto* its) { found = its; });
    return found;
  };
  series.observe(operation, 0.03);
  CHECK(exemplars() == nullptr);
  series.observe(operation, 0.03, {trace, span});
  series.observe(operation, 4, {later, span});
  series.observe(operation, 0.04);
  REQUIRE(exemplars() != nullptr);
  Histogram like;
  const Exemplar& quick = (*exemplars())[like.bucket_of(0.03)];
  CHECK(quick.there());
  CHECK(quick.trace_id() == trace);
  CHECK(quick.span_id() == span);
  CHECK(quick.value == 0.03);
  CHECK((*exemplars())[like.bucket_of(4)].trace_id() == later);
  CHECK_FALSE((*exemplars())[0].there());
  // An invalid trace id is not taken.
  series.observe(operation, 0.03, {"abc", span});
  CHECK(quick.trace_id() == trace);
}

TEST_CASE("exemplars are kept for so many series and no more") {
  OperationSeries series;
  const std::string trace(32, 'a'), span(16, 'c');
  for (int name = 0; name < 250; ++name) {
    Operation operation;
    operation.method = Method::tools_call;
    operation.name = static_cast<uint8_t>(name);
    series.observe(operation, 1, {trace, span});
  }
  size_t with = 0;
  series.for_each_with_exemplars(
      [&](const Operation&, const Histogram&, const auto* its) { with += its != nullptr ? 1 : 0; });
  CHECK(series.size() == 250);
  CHECK(with == OperationSeries::kMaxWithExemplars);
}

TEST_CASE("a limit is counted by its name, and summed over workers") {
  GatewayStats mine, all;
  use_stats(&mine);
  limit_reached(Limit::queue);
  limit_reached(Limit::queue);
  use_stats(nullptr);
  all.add(mine);
  all.add(mine);
  CHECK(all.limits[static_cast<size_t>(Limit::queue)] == 4);
  CHECK(label(Limit::queue) == "limits.maxQueue");
}

TEST_CASE(
    "the counters of a server on several workers add up, by name and not by the worker's number of a name") {
  UpstreamStats one("s"), other("s"), sum("s");
  one.tools.learn("a");
  one.tools.learn("b");
  other.tools.learn("b");
  other.server_address = "127.0.0.1";
  other.transport = "tcp";
  Operation operation;
  operation.method = Method::tools_call;
  operation.name = one.tools.find("b");
  one.server_operations.observe(operation, 1);
  operation.name = other.tools.find("b");
  other.server_operations.observe(operation, 2);
  operation.name = NameTable::kOther;
  other.server_operations.observe(operation, 3);
  one.ends[0][0] = 1;
  other.ends[0][0] = 2;
  other.cancellations[1][2] = 4;
  other.late_responses = 5;
  one.routed = std::make_unique<UpstreamStats>("s");
  one.routed->ends[0][0] = 7;
  sum.add(one);
  sum.add(other);
  size_t series = 0;
  sum.server_operations.for_each([&](const Operation& each, const Histogram& histogram) {
    ++series;
    const bool named = each.name == sum.tools.find("b");
    CHECK(histogram.count() == (named ? 2 : 1));
    CHECK(histogram.sum() == Approx(3));
  });
  CHECK(series == 2);
  CHECK(sum.ends[0][0] == 3);
  CHECK(sum.cancellations[1][2] == 4);
  CHECK(sum.late_responses == 5);
  CHECK(sum.server_address == "127.0.0.1");
  REQUIRE(sum.routed);
  CHECK(sum.routed->ends[0][0] == 7);
}
