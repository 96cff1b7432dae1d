// Opens one connection to a server: a host with a port, whose addresses are tried in turn, or a Unix socket.
//
// Owned by whoever wants the connection; destroying it gives up. Calls back once, never from inside its
// constructor.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/byte_stream.h"
#include "net/connect_attempt.h"
#include "net/resolver.h"

namespace lineward::net {

struct ConnectFailure {
  bool timed_out = false;
  std::string text;  // "cannot connect to 127.0.0.1:8000: connection refused"
};

class Connector {
 public:
  using Connected = Result<std::unique_ptr<ByteStream>, ConnectFailure>;
  // Called last: may destroy the connector.
  using Done = std::function<void(Connected connected)>;

  // The resolver must outlive it. `limit` is for all of it, the look-up included.
  Connector(Loop& loop, Resolver& resolver, milliseconds limit, Done done);
  Connector(Loop& loop, std::string unix_path, milliseconds limit, Done done);
  ~Connector();
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // Gives up; nothing is called any more.
  void stop();
  // What it connected to last, for people and for comparing.
  const std::string& address() const { return address_; }

 private:
  void begin(milliseconds limit);
  void use(const Addresses& addresses);
  void try_next();
  void try_unix();
  void attempted(std::unique_ptr<ByteStream> stream, int error);  // an error where it is null
  void finish(Connected connected);
  void finish_later(ConnectFailure failure);

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
  Timer share_;  // of the time, for this address
  Timer overall_;
  Lifetime lifetime_;
};

}  // namespace lineward::net
