#include "admin/ops_server.h"

#include <fmt/format.h>

#include "admin/metric_formats.h"
#include "admin/metrics_reader.h"
#include "client/http/admission.h"
#include "log/printable.h"

namespace lineward::admin {

namespace {

PlainResponse worker_is_stuck() {
  return plain_text(503, "a worker does not answer: its event loop stands still\n");
}

}  // namespace

OpsServer::OpsServer(const Sources& sources, const Readiness& readiness)
    : sources_(sources),
      readiness_(readiness),
      server_(sources.loop, [this](const PlainRequest& request, const PlainServer::Answer& answer) {
        answer(handle(request));
      }) {}

PlainResponse OpsServer::handle(const PlainRequest& request) const {
  const std::string& path = request.path;
  bool known = path == "/livez" || path == "/healthz" || path == "/readyz" || path == "/metrics";
  if (!known) return plain_text(404, "there is /livez, /readyz, /healthz and /metrics\n");
  if (request.head.method != "GET") return not_allowed("GET", plain_text(405, "read-only: GET\n"));
  // A web page must not read this through a name that it points here.
  if (auto refusal = client::check_addresses(request.head.headers, host_rules_, server_.is_loopback()))
    return plain_text(refusal->status, refusal->text + "\n");
  if (path == "/metrics") {
    core::MetricSnapshot metrics;
    bool read = sources_.workers.paused([&] { metrics = read_metrics(sources_); });
    if (!read) return worker_is_stuck();
    const MetricFormat format = format_for(request.head.headers.get("Accept"));
    PlainResponse page = plain_text(200, metrics_text(metrics, format));
    page.content_type = content_type(format);
    return page;
  }
  if (path == "/readyz") return ready(request);
  bool live = readiness_.live();
  return live ? plain_text(200, "ok\n") : plain_text(503, "the event loop stands still\n");
}

// `?verbose` lists the checks, `?exclude=upstream%20github` or `exclude=github` leaves one out.
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
                        left_out ? std::string("excluded: ok") : printable(check.text));
  }
  list += ok ? "readyz check passed\n" : "readyz check failed\n";
  PlainResponse response = plain_text(ok ? 200 : 503, "ok\n");
  if (!ok) response.body = fmt::format("not ready: {}\n", first);
  if (!ok || request.parameter("verbose")) response.body = (ok ? "" : response.body) + list;
  return response;
}

}  // namespace lineward::admin
