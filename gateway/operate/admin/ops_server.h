// The ops listener: probes and metrics, read-only, on its own address. Metrics are read and written in
// pieces, so that hundreds of servers do not block the loop. Concurrent scrapers share the next scrape.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "operate/admin/metric_formats.h"
#include "operate/admin/metrics_reader.h"
#include "operate/admin/plain_http.h"
#include "operate/admin/readiness.h"

namespace lineward::admin {

class OpsServer {
 public:
  OpsServer(const Sources& sources, const Readiness& readiness);

  Status<> listen(const std::string& address) { return server_.listen(address); }
  const std::string& address() const { return server_.address(); }

 private:
  PlainResponse handle(const PlainRequest& request) const;
  bool may_scrape(const PlainRequest& request) const;
  void scrape(MetricFormat format, OpsHttpServer::Answer answer);
  // Does one short piece of a scrape; the next one runs in another loop turn.
  void go_on();
  bool read_and_write();
  void answer_all(const std::function<PlainResponse(MetricFormat)>& page);
  PlainResponse ready(const PlainRequest& request) const;

  const Sources& sources_;
  const Readiness& readiness_;
  const config::Listen host_rules_;  // accepted Host names
  // Clients waiting for the current scrape, and for the next one.
  struct Scraper {
    MetricFormat format;
    OpsHttpServer::Answer answer;
  };
  std::vector<Scraper> served_, waiting_;
  std::unique_ptr<MetricsReading> reading_;
  bool has_read_workers_ = false;  // of reading_; the servers' processes are left
  metrics::MetricSnapshot read_;
  std::unique_ptr<MetricsWriter> writer_;
  std::map<MetricFormat, std::string> pages_;
  net::Timer next_piece_;
  OpsHttpServer server_;
};

}  // namespace lineward::admin
