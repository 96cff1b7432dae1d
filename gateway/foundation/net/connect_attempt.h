// A connection attempt to one address. The Connector tries its addresses one after another.
//
// Owned by the Connector. Calls back at most once for each start(), never from inside it, and not after
// stop().
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "foundation/net/address.h"
#include "foundation/net/byte_stream.h"

namespace lineward::net {

class ConnectAttempt {
 public:
  // The stream, or null and a negative errno. Called last: the callback may destroy the attempt.
  using Done = std::function<void(std::unique_ptr<ByteStream> stream, int error)>;

  ConnectAttempt(Loop& loop, Done done);
  ~ConnectAttempt();
  ConnectAttempt(const ConnectAttempt&) = delete;
  ConnectAttempt& operator=(const ConnectAttempt&) = delete;

  // 0, or a negative errno: then there is no callback. An attempt under way is abandoned.
  int start(const Address& address);
  int start(const std::string& unix_path);  // at most as long as sockaddr_un allows
  void stop();

 private:
  struct Pending;
  void connected(int status);
  Loop& loop_;
  Done done_;
  std::shared_ptr<Pending> pending_;  // the attempt under way
};

}  // namespace lineward::net
