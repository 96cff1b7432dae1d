#include "operate/cli/gateway_poll.h"

#include <fmt/format.h>

#include "operate/cli/control_client.h"
#include "operate/cli/control_text.h"
#include "operate/cli/json_fields.h"

namespace lineward::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A gateway answers within milliseconds; shown data ages quickly.
constexpr milliseconds kAnswerWithin{5000};
// Pages of calls: further calls are counted, not shown.
constexpr size_t kPages = 5;

int64_t ms_since(steady_clock::time_point then) {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - then).count();
}

}  // namespace

GatewayPoll::GatewayPoll(std::string socket, std::string address, milliseconds interval, TopModel& model)
    : socket_(std::move(socket)),
      address_(std::move(address)),
      interval_(interval),
      model_(model),
      heard_(steady_clock::now()),
      counted_(steady_clock::now()) {
  hurry();
}

void GatewayPoll::hurry() {
  if (step_ == Step::rest) until_ = steady_clock::now();
}

bool GatewayPoll::advance() {
  if (step_ == Step::rest) {
    if (steady_clock::now() < until_) return false;
    began_ = steady_clock::now();
    begin(Step::status, "/api/v1/status");
    return false;
  }
  connection_->advance();
  if (!connection_->over()) {
    if (steady_clock::now() < until_) return false;
    trouble(socket_ + " does not answer");
    return true;
  }
  finished();
  return step_ == Step::rest;
}

void GatewayPoll::begin(Step step, const std::string& path) {
  step_ = step;
  connection_ = std::make_unique<ControlConnection>(socket_, path);
  until_ = steady_clock::now() + kAnswerWithin;
}

void GatewayPoll::finished() {
  auto reply = reply_of(*connection_);
  connection_ = nullptr;
  if (!reply) return trouble(reply.error().text);
  if (reply->status == 404)
    return trouble(
        "this gateway is older than this command and has no such list: restart it with this version");
  if (reply->status != 200) return trouble(text_of(reply->body, "error"));
  use(std::move(reply->body));
  next_step();
}

void GatewayPoll::use(json body) {
  switch (step_) {
    case Step::status:
      heard_ = steady_clock::now();
      model_.use_trouble({});
      model_.use_status(std::move(body));
      break;
    case Step::servers:
      model_.use_servers(std::move(body["servers"]), ms_since(counted_));
      counted_ = steady_clock::now();
      break;
    case Step::calls: {
      if (pages_ == 0) calls_ = json::array();
      for (json& one : body["calls"])
        calls_.push_back(std::move(one));
      next_page_ = text_of(body, "next");
      if (++pages_ < kPages && !next_page_.empty()) return;
      next_page_.clear();
      model_.use_calls(std::move(calls_), number_of(body, "total"));
      break;
    }
    case Step::log: model_.use_log(std::move(body["lines"])); break;
    case Step::rest: break;
  }
}

void GatewayPoll::next_step() {
  switch (step_) {
    case Step::status: return begin(Step::servers, "/api/v1/servers");
    case Step::servers: pages_ = 0; return begin(Step::calls, "/api/v1/calls");
    case Step::calls:
      if (!next_page_.empty()) return begin(Step::calls, "/api/v1/calls?after=" + next_page_);
      if (model_.has_log()) return begin(Step::log, "/api/v1/log?limit=200");
      break;
    case Step::log:
    case Step::rest: break;
  }
  rest();
}

// The gateway is polled again at the next interval; the shown data stays, marked as old.
void GatewayPoll::trouble(const std::string& text) {
  connection_ = nullptr;
  std::string what = text;
  Found found = find_gateway(address_);
  if (!found.socket.empty()) {
    socket_ = found.socket;
  } else if (found.several.size() > 1) {
    what += fmt::format("; {} gateways run now: name one with --admin", found.several.size());
  }
  model_.use_trouble(fmt::format("{} old: {}", short_time(ms_since(heard_)), what));
  began_ = steady_clock::now();
  rest();
}

void GatewayPoll::rest() {
  step_ = Step::rest;
  until_ = began_ + interval_;
}

}  // namespace lineward::cli
