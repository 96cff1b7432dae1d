// An HTTP/1.1 response, read in pieces, and the JSON-RPC answer in it: as plain JSON or as an event of a
// stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

class HttpAnswer {
 public:
  enum class State : uint8_t { more, complete, broken };

  State feed(std::string_view bytes);
  // The peer has closed: complete where the body was to last until then.
  State end();
  void reset();

  int status() const { return status_; }
  bool events() const { return events_; }
  bool keep_alive() const { return keep_alive_; }
  const std::string& session() const { return session_; }  // Mcp-Session-Id
  const std::string& body() const { return body_; }
  bool started() const { return !bytes_.empty(); }

  // Empty when the body holds a result with this id and a text that is the nonce; else what is wrong.
  std::string check(int64_t id, std::string_view nonce) const;
  // Likewise of a stream with so many progress notifications before it, in order, each with this token.
  std::string check_progress(int64_t id, std::string_view nonce, std::string_view token, size_t count) const;
  // Likewise of a list of so many tools, as plain JSON.
  std::string check_list(int64_t id, size_t tools) const;

 private:
  bool read_head();
  State read_chunks();

  std::string bytes_;
  std::string body_;
  std::string session_;
  size_t body_at_ = 0;   // 0: the head is not complete
  size_t chunk_at_ = 0;  // where the next chunk begins
  size_t length_ = 0;
  int status_ = 0;
  bool has_length_ = false;
  bool chunked_ = false;
  bool events_ = false;
  bool keep_alive_ = true;
};

}  // namespace bench
