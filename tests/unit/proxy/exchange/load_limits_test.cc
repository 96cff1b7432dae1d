#include "proxy/exchange/load_limits.h"

#include <catch2/catch.hpp>

using namespace lineward;
using namespace lineward::exchange;

namespace {

bool refused(const LoadLimits& limits, const std::string& principal) {
  return limits.refusal(principal, false, false, 0, nullptr).has_value();
}

}  // namespace

TEST_CASE("the requests of a principal count on all workers together") {
  config::Listen listen;
  listen.max_in_flight_per_principal = 2;
  const auto all = std::make_shared<InFlight>();
  LoadLimits here(listen), there(listen);
  here.share(all);
  there.share(all);
  for (LoadLimits* worker : {&here, &there}) {
    CHECK(worker->came("a"));
    CHECK_FALSE(refused(*worker, "a"));
  }
  there.came("a");
  CHECK(refused(there, "a"));
  CHECK(refused(here, "a"));
  there.came("b");
  CHECK_FALSE(refused(there, "b"));
  here.went("a");
  CHECK_FALSE(refused(there, "a"));
  there.went("a");
  there.went("a");
  there.went("unknown");
  CHECK(*all->of("a") == 0);
}

TEST_CASE("principals that are gone from all workers are forgotten") {
  config::Listen listen;
  listen.max_in_flight_per_principal = 1;
  const auto all = std::make_shared<InFlight>();
  std::weak_ptr<InFlight::Count> first;
  {
    LoadLimits worker(listen);
    worker.share(all);
    worker.came("first");
    first = all->of("first");
    for (int i = 0; i < 5000; ++i) {
      worker.came(std::to_string(i));
      worker.went(std::to_string(i));
    }
    CHECK(all->known() < 3000);
  }
  CHECK(first.expired());
}

TEST_CASE("without a limit no principal is kept") {
  config::Listen listen;
  LoadLimits worker(listen);
  CHECK_FALSE(worker.came("a"));
  CHECK(worker.all().known() == 0);
}
