// Opens one connection to a server: to a host and port, trying its addresses in turn, or to a Unix socket.
//
// Destroying it abandons the attempt. Calls back once, never from inside its constructor.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "foundation/base/result.h"
#include "foundation/net/byte_stream.h"
#include "foundation/net/connect_attempt.h"
#include "foundation/net/resolver.h"

namespace lineward::net {

class Connector {
 public:
  // The error: "cannot connect to 127.0.0.1:8000: connection refused". Its code is ETIMEDOUT if the time
  // limit of the whole attempt has expired, else 0.
  using Connected = Result<std::unique_ptr<ByteStream>>;
  // Called last: the callback may destroy the connector.
  using Done = std::function<void(Connected connected)>;

  // The resolver must outlive the connector. `limit` bounds the whole attempt, including the look-up.
  Connector(Loop& loop, Resolver& resolver, milliseconds limit, Done done);
  Connector(Loop& loop, std::string unix_path, milliseconds limit, Done done);
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // Abandons the attempt; there are no more callbacks.
  void stop();
  // The address tried last, for messages and comparison.
  const std::string& address() const { return address_; }

 private:
  void begin(milliseconds limit);
  void use(const Addresses& addresses);
  void try_next();
  void try_unix();
  void attempted(std::unique_ptr<ByteStream> stream, int error);  // `error` is set if `stream` is null
  void finish(Connected connected);
  void finish_later(std::string failure);

  Loop& loop_;
  Resolver* resolver_ = nullptr;
  std::string unix_path_;
  milliseconds deadline_;
  Done done_;
  Addresses addresses_;
  size_t next_ = 0;
  std::string address_;
  std::string last_error_;
  ConnectAttempt attempt_;
  Timer share_;  // this address's share of the time limit
  Timer overall_;
  Lifetime lifetime_;
};

}  // namespace lineward::net
