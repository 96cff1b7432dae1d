// Checks whether the server still knows a session: after a doubtful answer it sends one `ping` in the
// session, for all simultaneous doubts (behaviour.md 11). After each ping there is a pause, which grows while
// no call is answered: a server that refuses everything does not get a ping per call.
//
// Owned by an HttpSession, which receives the verdict; never calls back from within doubt().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "proxy/upstream/http/session_requests.h"

namespace lineward::upstream {

class SessionCheck {
 public:
  enum class Verdict : uint8_t {
    knows,    // it has answered the ping
    unsure,   // no answer, or one that says nothing about the session
    refuses,  // it refuses the ping as an unknown or unauthorised one
    lost      // it says that there is no such session
  };
  using Told = std::function<void(Verdict)>;

  SessionCheck(net::Loop& loop, SessionRequests& requests, Told told)
      : loop_(loop), requests_(requests), told_(std::move(told)), patience_(loop) {}
  SessionCheck(const SessionCheck&) = delete;
  SessionCheck& operator=(const SessionCheck&) = delete;

  // Whether the refusal of a request with this status may mean that the session is lost.
  static bool is_sign(int status);
  // Whether a server's text mentions a session.
  static bool names_session(std::string_view words);

  // True: a ping is in progress, and the owner will get the verdict. False: one was sent just before.
  bool doubt();
  // The server has answered a call in the session, or has sent a message by itself.
  void answered();
  // It has done so since the session was opened.
  bool was_of_use() const { return was_of_use_; }
  // The session is over.
  void stop();

 private:
  void on_answer(const std::optional<mcp::Message>& answer, const MessagesEnd& end);
  void tell(Verdict verdict);

  net::Loop& loop_;
  SessionRequests& requests_;
  const Told told_;
  net::Timer patience_;
  std::chrono::milliseconds pause_{0};
  std::chrono::milliseconds next_{0};
  bool asking_ = false;
  bool was_of_use_ = false;
};

}  // namespace lineward::upstream
