// A `lineward/probe` request (protocol/mcp/probe.h) on its own connection, and the times of its results.
// Blocking; nothing waits longer than until the time it is given.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "operate/fetch/http_exchange.h"
#include "protocol/http/sse_parser.h"

namespace lineward::doctor {

using fetch::HttpTarget;
using fetch::Step;
using std::chrono::steady_clock;

// An event with its time by the gateway's clock, which is another one, and its arrival here.
struct ProbeEvent {
  std::chrono::microseconds sent{0};
  std::chrono::microseconds came{0};
};

class ProbeStream {
 public:
  // Both outlive it.
  ProbeStream(const config::Server& server, const HttpTarget& target) : server_(server), target_(target) {}
  ProbeStream(const ProbeStream&) = delete;
  ProbeStream& operator=(const ProbeStream&) = delete;

  // Connects and sends, until then. `members` of params, JSON without braces. `longest`: how long the answer
  // may take, for the gateway's own limits.
  Step open(std::string_view members, std::chrono::milliseconds longest, steady_clock::time_point until);
  // True: the answer is over, in order or not.
  bool read(steady_clock::time_point until);
  // Closes the connection, whatever was still to come.
  void leave() { exchange_.reset(); }

  int status() const { return status_; }  // 0: no head came
  // The front's view of the path (proxy/client/http/front_view.h), an object; empty: not reported.
  const nlohmann::json& front() const { return front_; }
  bool has_result() const { return answer_.is_object() && answer_.contains("result"); }
  // An object; empty where there is none.
  const nlohmann::json& result() const;
  // The error, in a few words of ours or the server's, bounded and printable; empty: none.
  std::string fault() const;
  const std::vector<ProbeEvent>& events() const { return events_; }
  steady_clock::time_point sent_at() const { return sent_at_; }
  std::optional<steady_clock::time_point> head_at() const { return head_at_; }
  steady_clock::time_point last_byte_at() const { return last_byte_at_; }
  steady_clock::time_point over_at() const { return over_at_; }

 private:
  void take(steady_clock::time_point now);
  void on_message(std::string_view text, steady_clock::time_point now);

  const config::Server& server_;
  const HttpTarget& target_;
  std::optional<fetch::HttpExchange> exchange_;
  http::SseParser events_of_stream_{{1 << 20, 1 << 20}};
  int status_ = 0;
  nlohmann::json front_ = nlohmann::json::object();
  bool is_stream_ = false;
  bool over_ = false;
  nlohmann::json answer_;
  std::vector<ProbeEvent> events_;
  steady_clock::time_point sent_at_, last_byte_at_, over_at_;
  std::optional<steady_clock::time_point> head_at_;
};

// A whole answer to a request that is answered at once.
class ProbeAnswer {
 public:
  ProbeAnswer(const config::Server& server, const HttpTarget& target, std::string_view members,
              std::chrono::milliseconds patience);

  Step step;          // of the connection
  int status = 0;     // of HTTP; 0: none came
  std::string fault;  // empty: `result` is one of a Lineward
  nlohmann::json result, front;
  std::chrono::milliseconds took{0};
  steady_clock::time_point came;
  // A number of the result in microseconds of the gateway's clock; 0: there is none.
  std::chrono::microseconds at(const char* name = "at") const;
};

// Members of an object that a server wrote, whatever it wrote.
std::string text_in(const nlohmann::json& object, const char* name);
int64_t number_in(const nlohmann::json& object, const char* name);
bool flag_in(const nlohmann::json& object, const char* name);

}  // namespace lineward::doctor
