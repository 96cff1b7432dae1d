// The two lines of a lease: a client's request on the lease socket, and the gateway's answer. The lease lasts
// as long as the connection.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace lineward::share {

// The length of a line with its end.
constexpr size_t kMaxLeaseLine = 512;

struct LeaseRequest {
  std::string token;  // names the client's sessions: the value of Lineward-Session in its requests
  std::chrono::milliseconds linger{0};  // how long the gateway waits for another client after this one
  pid_t pid = 0;                        // of the client's process, to be shown
};

// With its line end.
std::string lease_request(const LeaseRequest& request);
// The line without its end; nullopt: it is none.
std::optional<LeaseRequest> read_lease_request(std::string_view line);

struct LeaseAnswer {
  bool granted = false;
  std::string why;  // of a refusal
};
std::string lease_answer(const LeaseAnswer& answer);
std::optional<LeaseAnswer> read_lease_answer(std::string_view line);

}  // namespace lineward::share
