// HTTP/1.1 as the actors read it: another reader than the gateway's own, so that both must agree. Only what
// well-formed peers send; anything else is a fault of the other side.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace lineward::sim {

struct Head {
  std::string first;                          // request or status line
  std::map<std::string, std::string> fields;  // names in lower case
  std::string field(const std::string& name) const {
    auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  }
  std::string word(size_t index) const;  // of the first line
};

// Reads messages in order.
class HttpReader {
 public:
  explicit HttpReader(bool responses) : responses_(responses) {}
  std::function<void(const Head&)> on_head;
  std::function<void(std::string_view)> on_body;
  std::function<void()> on_done;
  // False: this is no HTTP.
  bool feed(std::string_view bytes);
  // The stream has ended. False: in the middle of a message.
  bool end();
  bool idle() const { return state_ == State::head && buffer_.empty(); }
  const std::string& fault() const { return fault_; }

 private:
  enum class State : uint8_t { head, length, chunk_size, chunk, chunk_end, trailer, until_end };
  bool head_complete(std::string_view text);
  void done();
  bool fail(std::string why) {
    fault_ = std::move(why);
    return false;
  }
  bool responses_;
  State state_ = State::head;
  std::string buffer_;
  uint64_t left_ = 0;
  std::string fault_;
};

// The events of a stream.
class EventReader {
 public:
  std::function<void(const std::string& id, const std::string& data)> on_event;
  void feed(std::string_view bytes);

 private:
  void line(std::string_view text);
  std::string buffer_, data_, id_;
  bool has_data_ = false;
};

}  // namespace lineward::sim
