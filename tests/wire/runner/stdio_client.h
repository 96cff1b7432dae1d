// An MCP client that started the gateway as its stdio server: it owns the other ends of the gateway's stdin
// and stdout. Reads only while a verb waits for something, so a script that does not read is a slow reader.
// Runs on its own thread.
#pragma once

#include <thread>

#include "mcp_client.h"

namespace lineward::wire {

class StdioClient : public McpClient {
 public:
  // Takes the descriptors: `to` is the gateway's stdin, `from` its stdout.
  StdioClient(Run& run, const Command& command, int to, int from);
  ~StdioClient() override;

  void start();
  void join();

 private:
  void execute(const Command& command) override;
  bool execute_bytes(const Command& command);
  void legacy_init(const Command& command);
  void send(std::string_view bytes);
  void wait_until_read();
  void send_line(const std::string& text) { send(text + "\n"); }
  // Waits for more bytes; false at the end of stdout or, past `until`, when nothing came.
  bool read_more(Clock::time_point until, bool& ended);
  std::string next_line(std::string_view waiting_for);
  // The next line must be a message that has `id` or not, and `method` (empty: none).
  std::string next_message(const char* what, bool has_id, bool has_method, const std::string& method);
  void keep(const Command& command, const char* name, const std::string& text);
  void close_fd(int& fd);

  const Command& command_;
  int to_, from_;
  std::string input_;
  size_t split_ = 0;
  std::thread thread_;
};

}  // namespace lineward::wire
