// An HTTP MCP server played by the script. HttpOrigin listens on a loopback port and reads all requests
// strictly (an unclean one fails the script by itself). It answers handshakes, and runs one block on a thread
// of its own.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "origin_connection.h"
#include "peer.h"

namespace lineward::wire {

class HttpOrigin : public Peer {
 public:
  HttpOrigin(Run& run, const Command& command);
  ~HttpOrigin() override;

  void start();
  void wait();  // until its block is done; throws Failure, Stopped
  void end();   // closes everything and joins

 private:
  // A request, or only a connection, that answers go to.
  struct Target {
    std::shared_ptr<OriginConnection> connection;
    StrictRequest request;
  };
  // How the answer under way on a connection is framed; belongs to the block's thread.
  enum class Framing { none, chunked, until_close };

  // connections' threads
  void accept_loop();
  void listen_again();
  void on_accepted(int fd);
  void on_request(const std::shared_ptr<OriginConnection>& connection, StrictRequest request);
  void too_many(const StrictRequest& request);
  bool answer_by_itself(OriginConnection& connection, const StrictRequest& request);
  std::string legacy_result(const std::string& method, const std::string& body) const;

  // block thread
  void block_loop();
  void execute(const Command& command) override;
  bool execute_connection(const Command& command);
  bool execute_http(const Command& command);
  bool execute_sse(const Command& command);
  bool execute_mcp(const Command& command);
  void receive(const Command& command);
  void accept(const Command& command);
  Target& target(const Command& command);
  void put(Target& to, std::string_view bytes);
  void put_piece(Target& to, std::string_view bytes);  // in the framing of the answer under way
  void begin_stream(Target& to, const std::string& more_headers, bool until_close);
  void end_stream(Target& to);
  void put_message(Target& to, const std::string& json, bool last);
  std::string headers_of(const Command& command) const;
  std::string body_of(const Word& word) const;

  const Command& command_;
  enum class Era { raw, modern, legacy } era_ = Era::raw;
  std::string auto_, discover_, initialize_;
  bool has_sessions_ = true, hold_get_ = false;
  std::set<std::string> named_;  // JSON-RPC methods, GET and DELETE that the block asks for

  int port_ = 0;
  std::atomic<bool> ended_{false}, listening_wanted_{true}, listening_{true}, reading_{true};
  int listener_ = -1;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<OriginConnection>> connections_;
  std::deque<std::shared_ptr<OriginConnection>> accepted_;
  std::deque<Target> requests_;
  int sessions_ = 0;
  bool done_ = false;

  std::map<std::string, Target> targets_;
  std::map<const OriginConnection*, Framing> framing_;
  std::string last_;
  size_t split_ = 0;
  std::thread acceptor_, worker_;
};

}  // namespace lineward::wire
