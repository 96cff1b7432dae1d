// An MCP client played by a script: bytes, HTTP, SSE and MCP verbs on one or more named connections. Runs on
// its own thread; connects when first needed.
#pragma once

#include <map>
#include <memory>
#include <thread>

#include "http_connection.h"
#include "mcp_client.h"

namespace lineward::wire {

class Client : public McpClient {
 public:
  Client(Run& run, const Command& command);
  ~Client() override;

  void start();
  void join();

 private:
  void execute(const Command& command) override;
  bool execute_bytes(const Command& command);
  bool execute_http(const Command& command);
  bool execute_mcp(const Command& command);

  HttpConnection& connection();
  void connect(const std::string& address);
  void send(std::string_view bytes) { connection().send(bytes, split_, deadline()); }

  void read_head();
  void read_response();
  void read_answer();
  void keep_message(const std::string& name, const std::string& text);

  using Headers = std::vector<std::pair<std::string, std::string>>;
  std::string build_request(const std::string& method, const std::string& path, Headers headers,
                            const std::optional<std::string>& body, const Command* edits);
  void modern(const Command& command);
  void modern_notify(const Command& command);
  void legacy_init(const Command& command);
  Headers legacy_headers() const;
  // On a connection of its own; fails unless the status is one of `wanted` (or -status).
  void post_aside(const Command& command, const std::string& method, const std::optional<std::string>& body,
                  const Headers& headers, std::string wanted);

  const Command& command_;
  std::string address_, current_ = "main", session_, version_ = "2025-11-25";
  std::string path_ = "/mcp";
  std::vector<std::string> always_;  // headers of every request, "K: V"
  size_t split_ = 0;
  std::map<std::string, std::unique_ptr<HttpConnection>> connections_;
  std::vector<std::unique_ptr<HttpConnection>> left_;  // their streams were reset; they stay open
  std::thread thread_;
};

}  // namespace lineward::wire
