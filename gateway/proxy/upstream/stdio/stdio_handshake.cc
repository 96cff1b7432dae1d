#include "proxy/upstream/stdio/stdio_handshake.h"

#include <fmt/format.h>

#include <utility>

#include "protocol/mcp/errors.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::upstream {

using mcp::EndReason;
using mcp::Field;

StdioHandshake::StdioHandshake(net::Loop& loop, const config::Server& server, InstancePlan& plan,
                               InstanceRecord& record, InstanceCalls& calls, PingBarrier& pings,
                               InstanceWire& wire, HandshakeCallbacks& owner)
    : server_(server),
      loop_(loop),
      stats_(metrics::upstream_stats(server.name)),
      plan_(plan),
      record_(record),
      calls_(calls),
      pings_(pings),
      wire_(wire),
      owner_(owner),
      limit_timer_(loop),
      adopted_timer_(loop) {
  record_.started_at = record_.last_used = loop.now();
}

void StdioHandshake::starts() {
  if (!plan_.spare) limit();
}

void StdioHandshake::adopted() {
  record_.last_used = record_.started_at = loop_.now();
  limit();
  if (!process_up_) return;
  // Deferred: the group that takes it has not added it to its list yet.
  adopted_timer_.start(std::chrono::milliseconds(0), [this] { begin(); });
}

// Independent of its callers' limits: a process that never gets ready must make room for another.
void StdioHandshake::limit() {
  limit_timer_.start(server_.timeouts.startup, [this] {
    wire_.stop({EndReason::timeout_startup,
                fmt::format("was not ready within {} ms (lineward timeouts.startup)",
                            server_.timeouts.startup.count()),
                {}});
  });
}

void StdioHandshake::process_started() {
  process_up_ = true;
  begin();
}

void StdioHandshake::begin() {
  if (state_ == State::down || plan_.spare) return;
  state_ = State::handshake;
  if (awaits_client()) return wire_.tell_free();
  // A running process does not prove that it reads: its first answer ends the start.
  const bool modern = plan_.era == mcp::Era::modern;
  PendingCall entry;
  entry.own = true;
  entry.own_initialize = !modern;
  entry.own_discover = modern;
  const int64_t id = calls_.add(std::move(entry));
  wire_.write(modern ? mcp::discover_request(id) : mcp::initialize_request(id, plan_.initialize_params));
}

bool StdioHandshake::is_under_way() const {
  return state_ == State::handshake || (state_ == State::starting && !plan_.spare);
}

bool StdioHandshake::awaits_client() const {
  return state_ == State::handshake && plan_.era == mcp::Era::legacy && plan_.initialize_params.empty();
}

bool StdioHandshake::take_client_answer(mcp::Method method, const mcp::Message& answer) {
  if (state_ != State::handshake || method != mcp::Method::initialize) return false;
  if (answer.kind() == mcp::MessageKind::result) {
    revision_ = answer.text(Field::result_protocol_version);
    note_ready();
  }
  return true;
}

void StdioHandshake::take_answer(const mcp::Message& answer) {
  if (answer.kind() == mcp::MessageKind::error) {
    ProcessEnd end{
        EndReason::upstream_protocol, "refused initialize: " + answer.text(Field::error_message), {}};
    end.knows_no_initialize = mcp::error_code(answer) == mcp::kMethodNotFound;
    return wire_.stop(end);
  }
  if (!mcp::is_initialize_result(answer))
    return wire_.stop({EndReason::upstream_protocol, "answered initialize without a protocolVersion", {}});
  initialize_result_.keep(std::string(answer.raw(Field::result)));
  revision_ = answer.text(Field::result_protocol_version);
  legacy_server_ = mcp::read_initialize_result(initialize_result_.text());
  legacy_server_bytes_.set(mcp::bytes_of(legacy_server_));
  wire_.write(std::string(mcp::kInitialized));
  if (!plan_.settles) return became_ready();
  pings_.settle_first([this] {
    if (state_ == State::handshake) became_ready();
  });
}

void StdioHandshake::became_ready() {
  note_ready();
  plan_.initialize_params = {};  // the group keeps them for the next process
  owner_.on_handshake_done();
}

// Once per process.
void StdioHandshake::note_ready() {
  state_ = State::ready;
  record_.was_ready = true;
  ++stats_.starts_ok;
  stats_.start_duration.observe(loop_.now() - record_.started_at);
  limit_timer_.stop();
}

void StdioHandshake::process_down() {
  state_ = State::down;
  limit_timer_.stop();
  adopted_timer_.stop();
}

}  // namespace lineward::upstream
