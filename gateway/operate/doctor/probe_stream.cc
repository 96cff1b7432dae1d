#include "operate/doctor/probe_stream.h"

#include <fmt/format.h>

#include "foundation/json/json_document.h"
#include "operate/doctor/masked.h"
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

std::string request_of(const config::Server& server, const HttpTarget& target, const std::string& body,
                       milliseconds longest) {
  std::string out = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
      "Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n"
      "MCP-Protocol-Version: {}\r\nMcp-Method: {}\r\n",
      target.request_target(), target.url.host_header, body.size(), mcp::kNewestModern, mcp::kProbe);
  if (longest.count() > 0)
    out += fmt::format("Prefer: wait={}\r\n", std::chrono::ceil<std::chrono::seconds>(longest).count());
  for (const auto& [name, value] : server.headers)
    out += fmt::format("{}: {}\r\n", name, value);
  return out + "\r\n" + body;
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
  line_.emplace(target_.url, until);
  Step step = line_->connect(server_, target_.proxy);
  if (!step.fault.empty()) return step;
  sent_at_ = last_byte_at_ = steady_clock::now();
  parser_.begin();
  // If not all of it is taken, the answer has the reason.
  line_->write(request_of(server_, target_, mcp::probe_request(1, members), longest));
  return {};
}

bool ProbeStream::read(steady_clock::time_point until) {
  while (!over_ && line_) {
    std::string bytes;
    const HttpLine::Came came = line_->read(bytes, until);
    const auto now = steady_clock::now();
    if (!bytes.empty()) {
      last_byte_at_ = now;
      parser_.append(bytes);
      take(now);
    }
    if (!over_ && came == HttpLine::Came::end) {
      parser_.finish();
      take(now);
      over_ = true;
      over_at_ = now;
    }
    if (came == HttpLine::Came::nothing || now >= until) break;
  }
  return over_;
}

void ProbeStream::take(steady_clock::time_point now) {
  using Next = http::ResponseParser::Next;
  for (;;) {
    switch (parser_.next()) {
      case Next::need_more: return;
      case Next::head:
        status_ = parser_.info().status;
        front_ = front_of(parser_.info().headers);
        is_stream_ =
            parser_.info().headers.get(std::string_view("Content-Type")).rfind("text/event-stream", 0) == 0;
        head_at_ = now;
        parser_.unlimited_body();
        break;
      case Next::body: {
        const std::string text = parser_.take_body();
        if (!is_stream_) {
          body_.append(text, 0, kMaxBody - body_.size());
          break;
        }
        events_of_stream_.append(text);
        while (events_of_stream_.next() == http::SseParser::Next::event)
          on_message(events_of_stream_.take_event().data, now);
        break;
      }
      case Next::complete:
        if (!is_stream_) on_message(body_, now);
        [[fallthrough]];
      case Next::failed:
        over_ = true;
        over_at_ = now;
        return;
    }
  }
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
  const Masked masked(server_);
  if (answer_.is_object() && answer_.contains("error")) {
    const json& error = answer_.at("error");
    return fmt::format("error {}: {}", number_in(error, "code"), masked(text_in(error, "message"), 300));
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
