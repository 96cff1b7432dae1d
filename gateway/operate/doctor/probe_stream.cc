#include "operate/doctor/probe_stream.h"

#include <fmt/format.h>

#include "foundation/json/json_document.h"
#include "operate/fetch/redactor.h"
#include "protocol/mcp/probe.h"
#include "protocol/mcp/revision.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::doctor {
namespace {

using nlohmann::json;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr size_t kMaxBody = 1 << 20;
constexpr size_t kMaxEvents = 4 * mcp::kMaxProbeEvents;
constexpr int kMaxDepth = 32;

std::string headers_of(const config::Server& server, milliseconds longest) {
  std::string out = fmt::format(
      "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {}\r\nMcp-Method: {}\r\n",
      mcp::kNewestModern, mcp::kProbe);
  if (longest.count() > 0)
    out += fmt::format("Prefer: wait={}\r\n", std::chrono::ceil<std::chrono::seconds>(longest).count());
  for (const auto& [name, value] : server.headers)
    out += fmt::format("{}: {}\r\n", name, value);
  return out;
}

json front_of(const http::HeaderList& headers) {
  json front = lineward::json::parse_document(headers.get(mcp::kProbeHeader), kMaxDepth);
  return front.is_object() ? front : json::object();
}

// Stamps of a clock that may be anything stay within what can be computed with.
microseconds stamp_of(const json& object, const char* name) {
  constexpr int64_t kMost = int64_t{1} << 60;
  const int64_t number = number_in(object, name);
  return microseconds(number < 0 || number > kMost ? 0 : number);
}

}  // namespace

std::string text_in(const json& object, const char* name) {
  auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>()
                                                                           : std::string();
}

int64_t number_in(const json& object, const char* name) {
  if (!object.is_object()) return 0;
  auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

bool flag_in(const json& object, const char* name) {
  if (!object.is_object()) return false;
  auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

Step ProbeStream::open(std::string_view members, milliseconds longest, steady_clock::time_point until) {
  exchange_.emplace(kMaxBody);
  Step step = exchange_->connect(
      target_, target_.request("POST", headers_of(server_, longest), mcp::probe_request(1, members)), until);
  if (!step.fault.empty()) return step;
  sent_at_ = last_byte_at_ = steady_clock::now();
  exchange_->advance();
  return {};
}

bool ProbeStream::read(steady_clock::time_point until) {
  while (!over_ && exchange_) {
    const uint64_t before = exchange_->received();
    const bool came = exchange_->advance_until(until);
    const auto now = steady_clock::now();
    if (exchange_->received() > before) last_byte_at_ = now;
    take(now);
    if (!came || now >= until) break;
  }
  return over_;
}

void ProbeStream::take(steady_clock::time_point now) {
  if (!head_at_ && exchange_->status() != 0) {
    const http::HeaderList& headers = exchange_->info().headers;
    status_ = exchange_->status();
    front_ = front_of(headers);
    is_stream_ = headers.get(std::string_view("Content-Type")).rfind("text/event-stream", 0) == 0;
    head_at_ = now;
    if (is_stream_) exchange_->expect_stream();
  }
  if (is_stream_) {
    events_of_stream_.append(exchange_->take_body());
    while (events_of_stream_.next() == http::SseParser::Next::event)
      on_message(events_of_stream_.take_event().data, now);
  }
  if (!exchange_->over()) return;
  if (!is_stream_ && exchange_->complete()) on_message(exchange_->take_body(), now);
  over_ = true;
  over_at_ = now;
}

void ProbeStream::on_message(std::string_view text, steady_clock::time_point now) {
  json message = lineward::json::parse_document(text, kMaxDepth);
  if (!message.is_object()) return;
  if (message.contains("result") || message.contains("error")) {
    answer_ = std::move(message);
    return;
  }
  const json::json_pointer stamp("/params/_meta/" + std::string("io.lineward~1probe"));
  if (!message.contains(stamp) || events_.size() >= kMaxEvents) return;
  events_.push_back({stamp_of(message.at(stamp), "at"), duration_cast<microseconds>(now.time_since_epoch())});
}

const json& ProbeStream::result() const {
  static const json kNone = json::object();
  if (!has_result()) return kNone;
  const json& found = answer_.at("result");
  return found.is_object() ? found : kNone;
}

std::string ProbeStream::fault() const {
  if (has_result()) return {};
  const fetch::Redactor redactor(server_);
  if (answer_.is_object() && answer_.contains("error")) {
    const json& error = answer_.at("error");
    return fmt::format("error {}: {}", number_in(error, "code"), redactor(text_in(error, "message"), 300));
  }
  if (status_ == 0) return over_ ? "the connection was closed without an answer" : "no answer in time";
  if (status_ != 200) return fmt::format("HTTP {}", status_);
  return over_ ? "the stream broke off" : "the stream did not end in time";
}

ProbeAnswer::ProbeAnswer(const config::Server& server, const HttpTarget& target, std::string_view members,
                         milliseconds patience) {
  ProbeStream stream(server, target);
  const auto until = steady_clock::now() + patience;
  step = stream.open(members, milliseconds(0), until);
  if (!step.fault.empty()) {
    fault = step.fault;
    return;
  }
  stream.read(until);
  status = stream.status();
  result = stream.result();
  front = stream.front();
  fault = stream.fault();
  came = stream.over_at();
  took = duration_cast<milliseconds>(came - stream.sent_at());
  if (fault.empty() && text_in(result, "gateway").empty()) fault = "a result that is not Lineward's";
}

microseconds ProbeAnswer::at(const char* name) const {
  return stamp_of(result, name);
}

}  // namespace lineward::doctor
