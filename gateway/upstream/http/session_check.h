// Whether the server still knows a session that it gave: an answer that makes it doubtful is followed by one
// `ping` in the session, for all who doubt at the same time (behaviour.md 11). After each ping there is a
// pause, which grows as long as no call is answered: a server that refuses everything is not asked for each
// call.
//
// Owned by an HttpSession, which hears the verdict; nothing is called back from inside doubt().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "upstream/http/session_requests.h"

namespace lineward::upstream {

class SessionCheck {
 public:
  enum class Verdict : uint8_t {
    knows,    // it has answered the ping
    unsure,   // it gave no answer, or one that says nothing about the session
    refuses,  // it refuses the ping as it refuses what it does not know, or whom
    lost      // it says that there is no such session
  };
  using Told = std::function<void(Verdict)>;

  SessionCheck(net::Loop& loop, SessionRequests& requests, Told told)
      : loop_(loop), requests_(requests), told_(std::move(told)), patience_(loop) {}
  SessionCheck(const SessionCheck&) = delete;
  SessionCheck& operator=(const SessionCheck&) = delete;

  // Whether the refusal of a request with this status may mean that the session is lost.
  static bool is_sign(int status);
  // Whether a server's words name a session.
  static bool names_session(std::string_view words);

  // True: the server is being asked, and the owner hears what came of it. False: it was asked just now.
  bool doubt();
  // The server has answered a call in the session, or has spoken by itself.
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
