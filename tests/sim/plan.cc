#include "plan.h"

#include <fmt/format.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "config/options/options.h"
#include "config/reader/load.h"
#include "plugins/registry.h"

namespace lineward::sim {
namespace {

using std::chrono::milliseconds;

std::vector<Op> draw_ops(Random& random, bool calm, bool asks, const config::Timeouts& limits) {
  std::vector<Op> ops;
  const Time request = limits.request.count() * kMillisecond;
  auto wait = [&] {
    Time most = calm ? request / 4 : request * 3 / 2;
    ops.push_back(
        {Op::Kind::wait, random.percent(60) ? random.between(0, 5 * kMillisecond) : random.skewed(0, most)});
  };
  if (random.percent(50)) wait();
  const uint64_t steps = random.below(4);
  for (uint64_t i = 0; i < steps; ++i) {
    if (random.percent(60)) ops.push_back({Op::Kind::progress});
    if (random.percent(50)) wait();
    if (random.percent(5)) ops.push_back({Op::Kind::garbage});
    if (asks && random.percent(40)) ops.push_back({Op::Kind::question});
  }
  if (calm) {
    ops.push_back({random.percent(80)   ? Op::Kind::result
                   : random.percent(50) ? Op::Kind::error
                                        : Op::Kind::tool_error});
    return ops;
  }
  const uint64_t end = random.below(100);
  if (end < 70)
    ops.push_back({Op::Kind::result});
  else if (end < 75)
    ops.push_back({Op::Kind::error});
  else if (end < 80)
    ops.push_back({Op::Kind::tool_error});
  else if (end < 90)
    ops.push_back({Op::Kind::hang});
  else if (end < 95)
    ops.push_back({Op::Kind::die});
  else
    ops.push_back({Op::Kind::close});
  if (end < 80 && random.percent(5)) ops.push_back({Op::Kind::again});
  return ops;
}

// A call with progress again and again: only `timeouts.maxDuration` ends it.
std::vector<Op> draw_long_ops(Random& random, const config::Timeouts& limits) {
  std::vector<Op> ops;
  const Time apart = limits.request.count() * kMillisecond * random.between(30, 80) / 100;
  const Time whole = limits.max_duration.count() * kMillisecond * random.between(50, 200) / 100;
  for (Time spent = 0; spent < whole && ops.size() < 60; spent += apart) {
    ops.push_back({Op::Kind::wait, apart});
    ops.push_back({Op::Kind::progress});
  }
  ops.push_back({random.percent(80) ? Op::Kind::result : Op::Kind::hang});
  return ops;
}

config::Server draw_server(Random& random, const ServerPlan& plan, size_t index, bool calm) {
  config::Server server;
  server.name = plan.name;
  if (plan.http) {
    server.url = random.percent(50) ? fmt::format("http://{}.sim:9000/mcp", plan.name)
                                    : fmt::format("http://10.1.0.{}:9000/mcp", index + 1);
  } else {
    server.command = "sim";
    server.args = {plan.name};
  }
  if (random.percent(30)) server.protocol_era = plan.modern ? config::Era::modern : config::Era::legacy;
  auto& times = server.timeouts;
  times.connect = milliseconds(random.between(500, 5000));
  times.startup = milliseconds(random.between(3000, 10000));
  times.request = milliseconds(random.between(200, 4000));
  times.max_duration = milliseconds(random.between(4000, 20000));
  times.park = milliseconds(random.between(2000, 8000));
  times.cancel_grace = milliseconds(random.between(0, 3000));
  times.progress_resets = random.percent(80);
  if (calm) times.max_duration = milliseconds(60000);
  if (calm) times.request += milliseconds(2000);
  if (calm && !times.progress_resets) times.request = milliseconds(30000);
  // In a session those that may ask go one after the other.
  if (calm) server.limits.queue_timeout = milliseconds(60000);
  if (!calm && random.percent(30)) {
    server.limits.max_in_flight = static_cast<uint32_t>(random.between(1, 4));
    server.limits.max_queue = static_cast<uint32_t>(random.between(0, 6));
    server.limits.queue_timeout = milliseconds(random.between(0, 3000));
  }
  server.stop.stdin_grace = milliseconds(random.between(0, 2000));
  server.stop.term_grace = milliseconds(random.between(0, 2000));
  server.restart.backoff = milliseconds(random.between(10, 500));
  server.restart.max_backoff = milliseconds(2000);
  server.circuit_breaker.open_for = milliseconds(random.between(500, 5000));
  if (random.percent(20))
    server.circuit_breaker.consecutive_failures = static_cast<uint32_t>(random.below(4));
  server.instance_idle = milliseconds(random.between(1000, 20000));
  const uint64_t isolation = random.below(10);
  if (isolation == 0) server.isolation = config::Isolation::session;
  if (isolation == 1) server.isolation = config::Isolation::call;
  if (!calm && random.percent(15))
    server.cancel = random.percent(50) ? config::CancelMode::never : config::CancelMode::kill;
  if (!plan.http && random.percent(15)) server.pool.prewarm = 1;
  if (!plan.http && !calm && random.percent(10))
    server.pool.max_requests = static_cast<uint64_t>(random.between(1, 10));
  if (!plan.http && !calm && random.percent(10))
    server.pool.max_lifetime = milliseconds(random.between(1000, 10000));
  if (random.percent(30)) {
    server.retry.attempts = static_cast<uint32_t>(random.between(2, 3));
    server.retry.on = {"connect", "reset", "unavailable"};
  }
  if (!calm && random.percent(10)) server.instances = static_cast<uint32_t>(random.between(1, 3));
  return server;
}

// Few places, and many calls at once.
void make_tight(Random& random, config::Server& server) {
  server.limits.max_in_flight = static_cast<uint32_t>(random.between(1, 2));
  server.limits.max_queue = static_cast<uint32_t>(random.between(1, 8));
  server.limits.queue_timeout = milliseconds(random.between(100, 3000));
  server.timeouts.cancel_grace = milliseconds(random.between(500, 3000));
}

// A server with two addresses.
void draw_origins(uint64_t seed, size_t index, ServerPlan& server, config::Server& config) {
  Random random(seed, "origins", index);
  if (!server.http || !random.percent(25)) return;
  server.origins = 2;
  const std::string second = random.percent(50) ? fmt::format("http://{}b.sim:9000/mcp", server.name)
                                                : fmt::format("http://{}/mcp", address_of_origin(index, 1));
  config.urls = {{config.url, static_cast<uint32_t>(random.between(1, 3)), false},
                 {second, static_cast<uint32_t>(random.between(1, 3)), false}};
  config.origins.eject_after = static_cast<uint32_t>(random.below(4));
  config.origins.eject_for = milliseconds(random.between(200, 2000));
  config.origins.max_eject_for = milliseconds(3000);
  config.origins.slow_start = milliseconds(random.percent(50) ? 0 : random.between(100, 2000));
  if (random.percent(30)) config.origins.check = milliseconds(random.between(200, 1000));
  config.origins.check_timeout = milliseconds(random.between(200, 1000));
}

void draw_more_of_server(uint64_t seed, size_t index, const Plan& plan, ServerPlan& server,
                         config::Server& config) {
  Random random(seed, "more of a server", index);
  server.tells_all = random.percent(30);
  server.describes = random.percent(40);
  if (server.modern && random.percent(60)) server.ttl_ms = random.between(0, 20000);
  server.is_public = random.percent(30);
  draw_origins(seed, index, server, config);
  config.cache.enabled = random.percent(30);
  config.cache.trust_public = random.percent(50);
  if (plan.calm) return;
  if (random.percent(25)) config.timeouts.max_duration = milliseconds(random.between(500, 4000));
  if (random.percent(15)) make_tight(random, config);
}

// Further parts of a call; `busy`: all at one server, at once.
void draw_more_of_call(Random& random, const Plan& plan, const ClientPlan& client, bool busy,
                       CallPlan& call) {
  call.reads_only = random.percent(40);
  if (plan.calm) return;
  if (busy) {
    call.at = random.between(0, 20 * kMillisecond);
    if (client.modern || client.together) call.server = 0;
  }
  const auto& limits = plan.config.servers[call.server].timeouts;
  if (random.percent(8)) {
    call.ops = draw_long_ops(random, limits);
    call.wants_progress = true;
    if (random.percent(80)) call.leave = Leave::stay;
  }
  if (plan.narrow && random.percent(40))
    call.more_in_result = static_cast<size_t>(random.between(1000, 60000));
  if (random.percent(8) && call.cut_request_at < 0) {
    call.leave = random.percent(50) ? Leave::fin : Leave::reset;
    call.leave_after = 60 * kSecond;  // when its answer comes, and should it never come
    call.leaves_at_answer = true;
  }
}

// All servers are served as one, too.
void put_together(Plan& plan) {
  config::Config& config = plan.config;
  config.aggregate.enabled = true;
  config.aggregate_server = config.servers.front();
  config.aggregate_server.url.clear();
  config.aggregate_server.name = "/mcp";
  config.aggregate_server.protocol_era = config::Era::modern;
  config.aggregate_server.isolation = config::Isolation::automatic;
}

// When all that there was has ended: by its limits or, where nothing goes wrong, by itself.
Time quiet_from(const Plan& plan) {
  if (!plan.calm) return plan.last + limits_of_all(plan);
  Time last = plan.last;
  for (const ClientPlan& client : plan.clients) {
    for (const CallPlan& call : client.calls) {
      Time takes = 0;
      for (const Op& op : call.ops)
        takes += op.kind == Op::Kind::question ? call.answer_after + kSecond : op.wait;
      last = std::max(last, call.at + takes);
    }
  }
  return std::min(last + 10 * kSecond, plan.last + limits_of_all(plan));
}

// If sessions wait for each other's process, the last of them may keep it for as long as a session may idle.
Time sessions_in_line(const Plan& plan) {
  const auto& listen = plan.config.listen;
  const auto sessions = static_cast<Time>(std::count_if(plan.clients.begin(), plan.clients.end(),
                                                        [](const ClientPlan& one) { return !one.modern; }));
  Time longest = 0;
  for (size_t i = 0; i < plan.servers.size(); ++i) {
    if (plan.servers[i].http || plan.servers[i].modern) continue;
    const Time waiting = std::max<Time>(0, sessions - plan.config.servers[i].instances);
    longest =
        std::max(longest, waiting * (listen.session_idle + listen.resume_window).count() * kMillisecond);
  }
  return longest;
}

// The last client: calls to each server, when it is quiet. First one, for a circuit that is open; then as
// many as may be under way at once.
void draw_probes(Plan& plan) {
  ClientPlan another;
  ClientPlan& client = plan.on_stdio ? plan.clients.front() : another;
  const size_t index = plan.on_stdio ? 0 : plan.clients.size();
  const Time base = quiet_from(plan) + sessions_in_line(plan);
  for (size_t i = 0; i < plan.servers.size(); ++i) {
    const config::Server& server = plan.config.servers[i];
    const size_t places = size_t{server.limits.max_in_flight} + server.limits.max_queue;
    size_t most = std::min<size_t>({4, server.limits.max_in_flight, places - places / 4});
    for (const FaultPlan& fault : plan.faults) {
      if (fault.kind == FaultPlan::Kind::reload && fault.how == 4 && fault.server == i) most = 1;
    }
    // Its one process may be kept for a client that may return: a session with questions, with a subscription
    // or of another caller has it alone.
    const bool has_sessions =
        !plan.servers[i].modern &&
        std::any_of(plan.clients.begin(), plan.clients.end(), [&plan](const ClientPlan& one) {
          return !one.modern && (plan.keys || one.can_be_asked || one.listens_at >= 0);
        });
    const bool kept_apart = has_sessions || (server.isolation != config::Isolation::automatic &&
                                             server.isolation != config::Isolation::shared);
    if (!plan.servers[i].http && kept_apart && server.instances < 64) continue;
    if (!plan.servers[i].http) most = std::min<size_t>(most, server.instances);
    // With many places no call lacks one.
    const size_t bound = plan.servers[i].http
                             ? server.limits.max_in_flight
                             : std::min<size_t>(server.limits.max_in_flight, server.instances);
    if (bound > most && bound > 4) most = std::min<size_t>(most, 1);
    // Calls that may be asked have a process each, which takes its time to start.
    if (client.can_be_asked) most = 1;
    // Each after the other, if a caller may not have more.
    const bool alone = plan.config.listen.max_in_flight_per_principal > 0;
    if (alone) most = 1;
    for (size_t k = 0; k <= most; ++k) {
      CallPlan call;
      call.tag = fmt::format("T{}.{}.", index, client.calls.size());
      call.server = i;
      call.is_probe = true;
      call.fresh_connection = true;
      call.at = base + (k == 0 ? 10 : 14) * kSecond;  // circuits are open for 5 at most
      if (alone) call.at = base + (10 + 3 * static_cast<Time>(client.calls.size())) * kSecond;
      const Time together = std::min(150 * kMillisecond, server.timeouts.request.count() * kMillisecond / 3);
      call.ops = {{Op::Kind::wait, k == 0 ? 0 : together}, {Op::Kind::result}};
      client.calls.push_back(call);
    }
  }
  if (!plan.on_stdio) plan.clients.push_back(std::move(another));
}

// The gateway serves stdin and stdout: one client, with all servers as one.
void put_on_stdio(Plan& plan) {
  plan.on_stdio = true;
  plan.keys = false;
  plan.narrow = false;
  config::Config& config = plan.config;
  config.listen.address = "stdio";
  config.listen.max_buffered_bytes = config::Listen().max_buffered_bytes;
  config.listen.max_buffered_bytes_per_principal = config::Listen().max_buffered_bytes_per_principal;
  config.auth = {};
  config.workers = 1;
  if (plan.servers.size() > 1 && !config.aggregate.enabled) put_together(plan);
  plan.clients.resize(1);
  ClientPlan& client = plan.clients.front();
  client.together = plan.servers.size() > 1;
  for (CallPlan& call : client.calls) {
    if (call.leave != Leave::stay) call.leave = Leave::message;
    if (!client.together) call.server = 0;
    call.cut_request_at = -1;
    call.slow_reader = 0;
    call.leaves_at_answer = false;
  }
  client.http2 = false;
}

// A file that is nowhere: what all replicas seal with.
const std::string& key_file() {
  static const std::string path = [] {
    const int file = memfd_create("replica-keys", 0);
    constexpr std::string_view kKey = "c2ltdWxhdGVkLXJlcGxpY2FzLWhhdmUtb25lLWtleS0=\n";
    if (file < 0 || fchmod(file, 0600) != 0 || ::write(file, kKey.data(), kKey.size()) < 0) std::abort();
    return fmt::format("/proc/self/fd/{}", file);
  }();
  return path;
}

void make_replicas(Random& random, Plan& plan) {
  plan.replicas = static_cast<size_t>(random.between(2, 3));
  plan.narrow = false;
  config::Config& config = plan.config;
  config.workers = 1;
  config.listen.max_buffered_bytes = config::Listen().max_buffered_bytes;
  config.listen.max_buffered_bytes_per_principal = config::Listen().max_buffered_bytes_per_principal;
  config.replicas.key_file = key_file();
  for (size_t i = 0; i < plan.replicas; ++i)
    config.replicas.peers.emplace_back(fmt::format("r{}", i), "http://" + address_of(i));
  if (plan.calm) return;
  for (uint64_t i = random.below(3); i > 0; --i) {
    FaultPlan fault;
    fault.kind = random.percent(50) ? FaultPlan::Kind::halt : FaultPlan::Kind::stop;
    fault.server = random.below(plan.replicas);
    fault.at = random.between(0, 6 * kSecond);
    fault.length = random.between(10 * kMillisecond, 4 * kSecond);
    plan.faults.push_back(fault);
  }
}

// Shortages: descriptors, processes and names.
void draw_shortages(Random& random, Plan& plan) {
  using Kind = FaultPlan::Kind;
  for (uint64_t i = 1 + random.below(2); i > 0; --i) {
    FaultPlan fault;
    fault.server = random.below(plan.servers.size());
    const bool http = plan.servers[fault.server].http;
    fault.kind = random.percent(30)   ? Kind::crowded
                 : !http              ? Kind::spawnless
                 : random.percent(50) ? Kind::nameless
                                      : Kind::slow_name;
    // The client on stdio has one connection alone.
    if (fault.kind == Kind::crowded && plan.on_stdio) continue;
    fault.at = random.percent(30) ? 0 : random.between(0, 6 * kSecond);
    fault.length = random.between(50 * kMillisecond, 4 * kSecond);
    plan.faults.push_back(fault);
  }
}

void draw_policies(Random& random, Plan& plan) {
  Policies& mine = plan.policies;
  std::string text = "plugins:\n";
  if (random.percent(40)) {
    mine.burst = static_cast<int>(random.between(1, 5));
    mine.per_second = static_cast<int>(random.between(1, 10));
    text += fmt::format(
        "  - rateLimit: {{ key: server, requests: {}, per: 1s, burst: {}, methods: [tools/call] }}\n",
        mine.per_second, mine.burst);
  }
  if (random.percent(40)) {
    mine.hides_look = static_cast<int>(random.below(plan.servers.size()));
    text += fmt::format("  - toolFilter: {{ deny: [look] }}\n    servers: [s{}]\n", mine.hides_look);
  }
  mine.redacts = random.percent(40) || (mine.burst == 0 && mine.hides_look < 0);
  mine.hooks = Random(plan.seed, "hooks").percent(25);
  if (mine.hooks) {
    mine.hooks_hear = Random(plan.seed, "hooks hear").percent(50);
    text += fmt::format(
        "  - hook: {{ url: \"http://{}/decide\", methods: [tools/call], timeout: 2s, onError: open{} }}\n",
        Policies::kHookAddress, mine.hooks_hear ? ", events: [request, response]" : "");
    // Calls wait there; the last probes must come through.
    for (config::Server& server : plan.config.servers)
      server.limits.queue_timeout = std::max(server.limits.queue_timeout, milliseconds(1000));
  }
  if (mine.redacts) text += "  - redact: { where: wire, patterns: [\"sk-sim-[0-9]+\"] }\n";
  text += "mcpServers:\n";
  for (const ServerPlan& server : plan.servers)
    text += fmt::format("  {}: {{ command: sim }}\n", server.name);
  config::LoadOptions options;
  options.read_files = false;
  options.plugins = &plugins::specs();
  auto read = config::load_text(text, "sim", options);
  if (!read.ok()) {
    fmt::print("{}", read.report(false));
    std::abort();
  }
  plan.config.plugins = read.config.plugins;
}

// Alice's and Bob's: API keys are given as their hashes.
const config::Auth& auth_with_keys() {
  static const config::Auth auth = [] {
    config::LoadOptions options;
    options.read_files = false;
    options.plugins = &plugins::specs();
    auto read = config::load_text(
        "auth:\n  apiKey:\n    keys:\n"
        "      - \"alice sha256:08de70070336baac3db11e5cca05f85f86ebd13d9ba9b67a357084e7fa43532d\"\n"
        "      - \"bob sha256:38597c0dcfa506917ab0a1e72855c9902fc305afcdc285d3a375fa7b24e847c5\"\n"
        "mcpServers: { s: { command: sim } }\n",
        "sim", options);
    return read.config.auth;
  }();
  return auth;
}

CallPlan draw_call(Random& random, const Plan& plan, const ClientPlan& client, std::string tag) {
  CallPlan call;
  call.tag = std::move(tag);
  call.server = client.modern || client.together ? random.below(plan.servers.size()) : client.server;
  const auto& limits = plan.config.servers[call.server].timeouts;
  call.at = random.percent(40) ? random.between(0, 50 * kMillisecond) : random.between(0, 5 * kSecond);
  call.ops = draw_ops(random, plan.calm, client.can_be_asked, limits);
  call.answer_after = random.skewed(0, 600 * kMillisecond);
  call.never_answers = !plan.calm && random.percent(10);
  call.obeys_cancel = random.percent(70);
  call.wants_progress = random.percent(60);
  call.fresh_connection = random.percent(50);
  call.padding = static_cast<size_t>(random.percent(95)   ? random.between(0, 200)
                                     : random.percent(90) ? random.between(200, 20000)
                                                          : random.between(20000, 200000));
  if (plan.calm) return call;
  if (random.percent(35)) {
    const uint64_t how = random.below(client.modern ? 2 : 3);
    call.leave = how == 0 ? Leave::fin : how == 1 ? Leave::reset : Leave::message;
    call.leave_after = random.percent(50) ? random.between(0, 60 * kMillisecond)
                                          : random.between(0, limits.request.count() * kMillisecond * 2);
    if (call.leave != Leave::message && random.percent(15)) call.cut_request_at = random.between(1, 900);
  }
  if (random.percent(5)) call.slow_reader = random.between(10 * kMillisecond, 3 * kSecond);
  return call;
}

// Some calls of a client of 2025-03-26 go together.
void draw_batches(Random& random, const Plan& plan, ClientPlan& client) {
  if (client.modern || client.version != "2025-03-26" || plan.on_stdio || !random.percent(60)) return;
  client.wants_array = random.percent(40);
  if (client.wants_array) client.can_be_asked = false;
  int number = 0;
  CallPlan* first = nullptr;
  for (CallPlan& call : client.calls) {
    if (call.is_probe || random.percent(20)) continue;
    if (first == nullptr || random.percent(30)) {
      first = &call;
      ++number;
    }
    call.batch = number;
    call.at = first->at;
    // They share the fate of their connection.
    call.cut_request_at = -1;
    call.slow_reader = 0;
    call.leaves_at_answer = false;
    if (call.leave == Leave::stay || random.percent(60)) continue;
    call.leave = Leave::message;
  }
}

void draw_strays(Random& random, const Plan& plan, size_t index, ClientPlan& client) {
  for (uint64_t i = random.below(4); i > 0; --i) {
    Stray stray;
    stray.at = random.between(0, 6 * kSecond);
    stray.verb = static_cast<Stray::Verb>(random.below(3));
    stray.kind = static_cast<Stray::Kind>(random.below(3));
    if (stray.kind == Stray::Kind::elsewhere) {
      if (client.modern || client.together || plan.servers.size() < 2) continue;
      stray.other = (client.server + 1 + random.below(plan.servers.size() - 1)) % plan.servers.size();
    }
    if (stray.kind == Stray::Kind::anothers) {
      stray.other = random.below(plan.clients.size());
      const ClientPlan& other = plan.clients[stray.other];
      if (stray.other == index || !plan.keys || other.modern || other.who == client.who) continue;
    }
    client.strays.push_back(stray);
  }
}

// Long texts, so that a call takes its time from one replica to another.
void make_long(Random& random, Plan& plan) {
  for (ClientPlan& client : plan.clients) {
    for (CallPlan& call : client.calls) {
      if (call.is_probe || !random.percent(25)) continue;
      call.padding = static_cast<size_t>(random.between(10'000, 150'000));
      call.cut_request_at = call.cut_request_at >= 0 ? random.between(1, 100'000) : -1;
    }
  }
}

// Callers that want too much at once, and those that do not say what they want.
void draw_abuse(Random& random, Plan& plan) {
  if (random.percent(8) && !plan.on_stdio && plan.replicas == 1)
    plan.config.listen.max_in_flight_per_principal = static_cast<uint32_t>(random.between(3, 5));
  for (ClientPlan& client : plan.clients) {
    // Over HTTP a modern client says in a header what it wants, too.
    if (client.modern && !plan.on_stdio) continue;
    for (CallPlan& call : client.calls)
      call.names_no_string = random.percent(2) && !call.asks();
  }
}

void draw_faults(Random& random, Plan& plan) {
  const uint64_t count = random.percent(40) ? 0 : random.below(5);
  for (uint64_t i = 0; i < count; ++i) {
    FaultPlan fault;
    fault.server = random.below(plan.servers.size());
    fault.at = random.between(0, 6 * kSecond);
    fault.length = random.skewed(kMillisecond, 4 * kSecond);
    const bool http = plan.servers[fault.server].http;
    switch (random.below(6)) {
      case 0: fault.kind = http ? FaultPlan::Kind::reset : FaultPlan::Kind::kill; break;
      case 1: fault.kind = http ? FaultPlan::Kind::refuse : FaultPlan::Kind::kill; break;
      case 2: fault.kind = http ? FaultPlan::Kind::silence : FaultPlan::Kind::stall; break;
      case 3: fault.kind = FaultPlan::Kind::stall; break;
      case 4: fault.kind = FaultPlan::Kind::jump; break;
      case 5:
        fault.kind = FaultPlan::Kind::reload;
        fault.how = static_cast<unsigned>(random.below(5));
        break;
    }
    plan.faults.push_back(fault);
  }
  if (random.percent(10)) plan.drain_at = random.between(0, 6 * kSecond);
}

}  // namespace

std::string address_of_origin(size_t server, size_t origin) {
  return fmt::format("10.1.{}.{}:9000", origin, server + 1);
}

std::string address_of(size_t replica) {
  return fmt::format("127.0.0.1:{}", 8000 + replica);
}

const char* key_of(int who) {
  return who == 0 ? "alice-0123456789abcdef" : "bob-0123456789abcdef00";
}

std::string share_of(const Plan& plan, size_t client) {
  if (!plan.keys) return fmt::format("address 10.0.0.{}", client + 1);
  return plan.clients[client].who == 0 ? "principal alice" : "principal bob";
}

uint32_t places_after(const FaultPlan& reload) {
  return 1 + static_cast<uint32_t>(reload.at % 3);
}

Time limits_of_all(const Plan& plan) {
  Time longest = 0;
  for (const auto& server : plan.config.servers) {
    Time most = 0;
    for (auto limit : {server.limits.queue_timeout, server.timeouts.connect * 2, server.timeouts.startup * 2,
                       server.timeouts.max_duration})
      most += limit.count() * kMillisecond;
    longest = std::max(longest, most);
  }
  return longest;
}

bool is_small(uint64_t seed) {
  return Random(seed, "size").percent(60);
}

Plan draw_plan(uint64_t seed) {
  Random random(seed, "plan");
  Plan plan;
  plan.seed = seed;
  plan.calm = random.percent(25);
  auto& config = plan.config;
  config.listen.address = "127.0.0.1:8000";
  config.listen.session_idle = milliseconds(random.between(10000, 30000));
  config.listen.resume_window = milliseconds(random.percent(50) ? 0 : random.between(100, 5000));
  config.listen.idle_timeout = milliseconds(random.between(1000, 20000));
  config.listen.keep_alive = milliseconds(random.between(100, 5000));
  config.shutdown.drain = milliseconds(random.between(0, 5000));
  config.ops.address = "off";
  config.admin.address = "off";
  // Most are small: what takes little is found in them a few times as soon.
  const bool small = is_small(seed);
  size_t servers = random.percent(60) ? 1 + random.below(2) : 1 + random.below(4);
  if (small) servers = std::min<size_t>(servers, 2);
  for (size_t i = 0; i < servers; ++i) {
    ServerPlan server;
    server.name = fmt::format("s{}", i);
    server.http = random.percent(50);
    server.modern = random.percent(50);
    server.events = random.percent(50);
    server.chunked = random.percent(50);
    server.sessions = random.percent(80);
    server.dies_of_the_probe = !server.modern && random.percent(10);
    server.start = random.skewed(0, 500 * kMillisecond);
    server.exit_delay = random.skewed(0, 100 * kMillisecond);
    server.ignores_end = random.percent(10);
    server.ignores_term = random.percent(10);
    Random own(seed, "server", i);
    server.get_stream = own.percent(70);
    for (uint64_t k = own.below(8); k > 0; --k)
      server.pulses.push_back(own.between(0, 8 * kSecond));
    plan.servers.push_back(server);
    config.servers.push_back(draw_server(own, plan.servers.back(), i, plan.calm));
    draw_more_of_server(seed, i, plan, plan.servers.back(), config.servers.back());
  }
  Random more(seed, "more");
  plan.keys = more.percent(30);
  if (plan.keys) config.auth = auth_with_keys();
  config.workers = more.percent(small ? 95 : 75) ? 1 : static_cast<uint32_t>(more.between(2, 3));
  plan.narrow = !plan.calm && more.percent(12);
  if (plan.narrow) {
    config.listen.max_buffered_bytes = static_cast<uint64_t>(more.between(400'000, 2'000'000));
    config.listen.max_buffered_bytes_per_principal = static_cast<uint64_t>(more.between(60'000, 300'000));
    if (more.percent(70)) config.listen.resume_window = milliseconds(more.between(1000, 8000));
  }
  const bool busy = !plan.calm && more.percent(20);
  if (busy) make_tight(more, config.servers.front());
  config.aggregate.enabled = servers > 1 && random.percent(50);
  if (config.aggregate.enabled) {
    put_together(plan);
    config.aggregate.part_timeout = milliseconds(random.between(500, 5000) + (plan.calm ? 5000 : 0));
  }
  size_t clients = 1 + random.below(random.percent(70) ? 3 : 7);
  if (small) clients = std::min<size_t>(clients, 2);
  for (size_t i = 0; i < clients; ++i) {
    Random own(seed, "client", i);
    ClientPlan client;
    client.modern = own.percent(50);
    if (!client.modern)
      client.version = own.percent(60) ? "2025-11-25" : own.percent(50) ? "2025-06-18" : "2025-03-26";
    client.server = own.below(servers);
    client.together = config.aggregate.enabled && own.percent(50);
    client.can_be_asked = own.percent(40);
    client.deletes_session = own.percent(60);
    Random extra(seed, "more of a client", i);
    client.who = extra.percent(50) ? 0 : 1;
    if (busy && extra.percent(70)) client.server = 0;
    if (extra.percent(40)) {
      for (uint64_t k = 1 + extra.below(4); k > 0; --k)
        client.lists_at.push_back(extra.between(0, 6 * kSecond));
    }
    client.wants_tools = extra.percent(60);
    client.wants_prompts = extra.percent(40);
    client.wants_resource = extra.percent(60);
    for (const Time at : client.lists_at)
      plan.last = std::max(plan.last, at);
    client.http2 = Random(seed, "HTTP/2", i).percent(20);
    Random listening(seed, "listening", i);
    if (listening.percent(30)) {
      client.listens_at = listening.between(0, 3 * kSecond);
      client.listens_for = listening.between(0, 5 * kSecond);
      plan.last = std::max(plan.last, client.listens_at + client.listens_for);
    }
    // A question may go on the stream of a session, and be lost with it.
    if (plan.calm && !client.modern && client.listens_at >= 0) client.can_be_asked = false;
    uint64_t calls = 1 + own.below(own.percent(70) ? 4 : 10);
    if (small) calls = std::min<uint64_t>(calls, 3);
    for (uint64_t k = 0; k < calls; ++k) {
      client.calls.push_back(draw_call(own, plan, client, fmt::format("T{}.{}.", i, k)));
      draw_more_of_call(extra, plan, client, busy, client.calls.back());
      plan.last = std::max(plan.last, client.calls.back().at);
    }
    plan.clients.push_back(std::move(client));
  }
  Random front(seed, "front");
  const uint64_t kind = front.below(100);
  if (kind < 12) put_on_stdio(plan);
  if (kind >= 12 && kind < (small ? 18 : 26)) make_replicas(front, plan);
  if (!plan.calm) {
    Random own(seed, "faults");
    draw_faults(own, plan);
    Random shortage(seed, "shortage");
    if (shortage.percent(15)) draw_shortages(shortage, plan);
    Random policy(seed, "policy");
    if (policy.percent(20)) draw_policies(policy, plan);
    Random abuse(seed, "abuse");
    draw_abuse(abuse, plan);
  }
  if (!plan.on_stdio) {
    for (size_t i = 0; i < plan.clients.size(); ++i) {
      Random batches(seed, "batches", i), strays(seed, "strays", i);
      draw_batches(batches, plan, plan.clients[i]);
      if (strays.percent(30)) draw_strays(strays, plan, i, plan.clients[i]);
    }
    Random lengths(seed, "long texts");
    if (plan.replicas > 1 && lengths.percent(25)) make_long(lengths, plan);
  }
  if (plan.calm && random.percent(30)) {
    FaultPlan fault;
    fault.kind = FaultPlan::Kind::reload;
    fault.server = random.below(servers);
    fault.at = random.between(0, 5 * kSecond);
    fault.how = static_cast<unsigned>(random.below(2));
    plan.faults.push_back(fault);
  }
  Random strikes(seed, "the origin that is struck");
  for (FaultPlan& fault : plan.faults) {
    fault.origin = static_cast<int>(strikes.below(3)) - 1;
    plan.last = std::max(plan.last, fault.at + fault.length);
  }
  if (plan.drain_at < 0) draw_probes(plan);
  return plan;
}

std::string describe(const Plan& plan) {
  std::string text = fmt::format(
      "seed {}{}{}{}{}\n", plan.seed, plan.calm ? " (calm)" : "", plan.on_stdio ? " on stdio" : "",
      plan.replicas > 1 ? fmt::format(" {} replicas", plan.replicas) : "",
      plan.config.workers > 1 ? fmt::format(" {} workers", plan.config.workers) : "");
  for (size_t i = 0; i < plan.servers.size(); ++i) {
    const ServerPlan& s = plan.servers[i];
    const config::Server& c = plan.config.servers[i];
    text += fmt::format(
        "  server {} {} {}{}{} era={} isolation={} cancel={} request={} maxDuration={} inFlight={} "
        "queue={}/{} start={}ms\n",
        s.name, s.http ? "http" : "stdio", s.modern ? "modern" : "legacy",
        s.http && s.events ? " events"
        : s.origins > 1    ? " two origins"
                           : "",
        s.http && !s.modern && !s.sessions ? " sessionless" : "", static_cast<int>(c.protocol_era),
        static_cast<int>(c.isolation), static_cast<int>(c.cancel), c.timeouts.request.count(),
        c.timeouts.max_duration.count(), c.limits.max_in_flight, c.limits.max_queue,
        c.limits.queue_timeout.count(), s.start / kMillisecond);
  }
  for (size_t i = 0; i < plan.clients.size(); ++i) {
    const ClientPlan& client = plan.clients[i];
    if (client.dropped) continue;
    text += fmt::format(
        "  client {} {}{}\n", i,
        client.modern ? "modern" : "legacy " + client.version + " with s" + std::to_string(client.server),
        std::string(client.together ? " at all as one" : "") + (client.http2 ? " over HTTP/2" : "") +
            (plan.keys ? fmt::format(" as {}", client.who == 0 ? "alice" : "bob") : ""));
    for (const Time at : client.lists_at)
      text += fmt::format("    lists at {:.3f}s\n", static_cast<double>(at) / kSecond);
    static constexpr const char* kStray[] = {"its session at another server", "another's session",
                                             "a request in a body"};
    for (const Stray& stray : client.strays) {
      if (!stray.dropped)
        text += fmt::format("    strays at {:.3f}s: {} ({}, {})\n", static_cast<double>(stray.at) / kSecond,
                            kStray[static_cast<int>(stray.kind)], static_cast<int>(stray.verb), stray.other);
    }
    if (client.listens_at >= 0 && !client.listens_dropped)
      text += fmt::format("    listens at {:.3f}s for {:.3f}s\n",
                          static_cast<double>(client.listens_at) / kSecond,
                          static_cast<double>(client.listens_for) / kSecond);
    for (const CallPlan& call : client.calls) {
      if (call.dropped) continue;
      std::string ops;
      for (const Op& op : call.ops)
        ops += op.kind == Op::Kind::wait ? fmt::format("w{}", op.wait / kMillisecond)
                                         : std::string(1, static_cast<char>(op.kind));
      static constexpr const char* kLeave[] = {"", " leaves by FIN", " leaves by RST", " cancels by message"};
      text +=
          fmt::format("    {} at {:.3f}s to s{} ops {}{}{}{}{}\n", call.tag,
                      static_cast<double>(call.at) / kSecond, call.server, ops,
                      (call.obeys_cancel ? "" : " (ignores cancels)") +
                          std::string(call.reads_only ? " (reads only)" : "") +
                          std::string(call.leaves_at_answer ? " (as its answer comes)" : "") +
                          std::string(call.names_no_string ? " (names no string)" : "") +
                          (call.batch > 0 ? fmt::format(" (in batch {})", call.batch) : "") +
                          std::string(call.never_answers ? " (never answers)" : ""),
                      kLeave[static_cast<int>(call.leave)],
                      call.leave == Leave::stay
                          ? ""
                          : fmt::format(" after {:.3f}s", static_cast<double>(call.leave_after) / kSecond),
                      call.cut_request_at >= 0 ? fmt::format(" request cut at {}", call.cut_request_at) : "");
    }
  }
  static constexpr const char* kFaults[] = {"kill",      "refuse",    "silence", "reset", "stall",
                                            "jump",      "reload",    "halt",    "stop",  "nameless",
                                            "slow name", "spawnless", "crowded"};
  for (const FaultPlan& fault : plan.faults) {
    if (!fault.dropped)
      text += fmt::format(
          "  fault {}{} of s{} at {:.3f}s for {:.3f}s\n", kFaults[static_cast<int>(fault.kind)], fault.how,
          fault.server, static_cast<double>(fault.at) / kSecond, static_cast<double>(fault.length) / kSecond);
  }
  if (plan.drain_at >= 0)
    text += fmt::format("  SIGTERM at {:.3f}s\n", static_cast<double>(plan.drain_at) / kSecond);
  return text;
}

}  // namespace lineward::sim
