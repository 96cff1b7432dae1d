#include "operate/admin/ops_server.h"

#include <fmt/format.h>

#include <utility>

#include "foundation/log/sanitize.h"
#include "proxy/client/http/admission.h"

namespace lineward::admin {

namespace {

// Maximum loop time for one piece of a scrape.
constexpr std::chrono::nanoseconds kReadingSlice{2'000'000};

PlainResponse worker_is_stuck() {
  return plain_text(503, "a worker does not answer: its event loop stands still\n");
}

}  // namespace

OpsServer::OpsServer(const Sources& sources, const Readiness& readiness)
    : sources_(sources),
      readiness_(readiness),
      next_piece_(sources.loop),
      server_(sources.loop, [this](const PlainRequest& request, const OpsHttpServer::Answer& answer) {
        if (may_scrape(request)) return scrape(format_for(request.head.headers.get("Accept")), answer);
        answer(handle(request));
      }) {}

bool OpsServer::may_scrape(const PlainRequest& request) const {
  return request.path == "/metrics" && request.head.method == "GET" &&
         !client::check_addresses(request.head.headers, host_rules_, server_.is_loopback());
}

// ---- metrics ----

void OpsServer::scrape(MetricFormat format, OpsHttpServer::Answer answer) {
  waiting_.push_back({format, std::move(answer)});
  if (served_.empty()) go_on();
}

void OpsServer::go_on() {
  if (served_.empty()) {
    if (waiting_.empty()) return;
    served_ = std::exchange(waiting_, {});
    reading_ = std::make_unique<MetricsReading>(sources_);
  }
  if (!read_and_write()) return next_piece_.start(std::chrono::milliseconds(0), [this] { go_on(); });
  answer_all([this](MetricFormat format) {
    PlainResponse page = plain_text(200, pages_[format]);
    page.content_type = content_type(format);
    return page;
  });
}

// True: all served requests have a page.
bool OpsServer::read_and_write() {
  const uint64_t until = net::Loop::nanoseconds() + static_cast<uint64_t>(kReadingSlice.count());
  if (reading_) {
    if (!has_read_workers_ &&
        !sources_.workers.paused([&] { has_read_workers_ = reading_->read_for(kReadingSlice); })) {
      reading_.reset();
      answer_all([](MetricFormat) { return worker_is_stuck(); });
      return false;
    }
    if (!has_read_workers_ || !reading_->read_processes_for(kReadingSlice)) return false;
    has_read_workers_ = false;
    read_ = reading_->take();
    reading_.reset();
  }
  for (const Scraper& one : served_) {
    if (pages_.count(one.format) > 0) continue;
    if (!writer_) writer_ = std::make_unique<MetricsWriter>(read_, one.format);
    do {
      if (net::Loop::nanoseconds() >= until) return false;
    } while (writer_->write_more());
    pages_[one.format] = writer_->take();
    writer_.reset();
  }
  return true;
}

void OpsServer::answer_all(const std::function<PlainResponse(MetricFormat)>& page) {
  for (Scraper& one : std::exchange(served_, {}))
    one.answer(page(one.format));
  pages_.clear();
  read_ = {};
  if (!waiting_.empty()) next_piece_.start(std::chrono::milliseconds(0), [this] { go_on(); });
}

PlainResponse OpsServer::handle(const PlainRequest& request) const {
  const std::string& path = request.path;
  bool known = path == "/livez" || path == "/healthz" || path == "/readyz" || path == "/metrics";
  if (!known) return plain_text(404, "there is /livez, /readyz, /healthz and /metrics\n");
  if (request.head.method != "GET") return not_allowed("GET", plain_text(405, "read-only: GET\n"));
  // A web page must not read this through a host name that it points here.
  if (auto refusal = client::check_addresses(request.head.headers, host_rules_, server_.is_loopback()))
    return plain_text(refusal->status, refusal->text + "\n");
  if (path == "/readyz") return ready(request);
  bool live = readiness_.live();
  return live ? plain_text(200, "ok\n") : plain_text(503, "the event loop stands still\n");
}

// `?verbose` lists the checks; `?exclude=upstream%20github` or `exclude=github` leaves one out.
PlainResponse OpsServer::ready(const PlainRequest& request) const {
  std::string excluded = request.parameter("exclude").value_or("");
  bool ok = true;
  std::string list;
  std::string_view first;
  std::vector<Check> checks;
  if (!sources_.workers.paused([&] { checks = readiness_.checks(); })) return worker_is_stuck();
  for (const Check& check : checks) {
    bool left_out = !excluded.empty() && (check.name == excluded || check.name == "upstream " + excluded);
    bool good = check.ok || left_out;
    if (!good && ok) first = check.name;
    ok = ok && good;
    list += fmt::format("[{}]{} {}\n", good ? '+' : '-', check.name,
                        left_out ? std::string("excluded: ok") : sanitize(check.text));
  }
  list += ok ? "readyz check passed\n" : "readyz check failed\n";
  PlainResponse response = plain_text(ok ? 200 : 503, "ok\n");
  if (!ok) response.body = fmt::format("not ready: {}\n", first);
  if (!ok || request.parameter("verbose")) response.body = (ok ? "" : response.body) + list;
  return response;
}

}  // namespace lineward::admin
