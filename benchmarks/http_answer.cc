#include "http_answer.h"

#include <fmt/format.h>

#include <charconv>

#include "protocol/mcp/message.h"

namespace bench {
namespace {

using lineward::mcp::Field;
using lineward::mcp::Message;
using lineward::mcp::MessageKind;

constexpr size_t kMaxBytes = 4 << 20;  // no answer here is that long

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

bool number(std::string_view text, int base, size_t& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end != text.data();
}

// Calls visit(line) for each line, without its end.
template <class F>
void for_each_line(std::string_view text, F&& visit) {
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    visit(line);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
}

// Calls visit(data) for each event of a stream.
template <class F>
void for_each_event(std::string_view stream, F&& visit) {
  std::string data;
  auto event_ends = [&] {
    if (!data.empty()) visit(std::string_view(data));
    data.clear();
  };
  for_each_line(stream, [&](std::string_view line) {
    if (line.empty()) return event_ends();
    if (line.substr(0, 5) != "data:") return;
    line.remove_prefix(line.substr(0, 6) == "data: " ? 6 : 5);
    data += line;
  });
  event_ends();
}

std::string check_message(std::string_view text, int64_t id, std::string_view nonce) {
  auto message = Message::parse(std::string(text));
  if (!message) return fmt::format("no message: {}", text.substr(0, 300));
  if (message->kind() != MessageKind::result) return fmt::format("no result: {}", text.substr(0, 300));
  if (message->raw(Field::id) != std::to_string(id)) {
    return fmt::format("id {} instead of {}", message->raw(Field::id), id);
  }
  std::string wanted = fmt::format(R"("text":"{}")", nonce);
  if (message->raw(Field::result).find(wanted) == std::string_view::npos) {
    return fmt::format("the nonce {} is not in {}", nonce, text.substr(0, 300));
  }
  return {};
}

}  // namespace

void HttpAnswer::reset() {
  bytes_.clear();
  body_.clear();
  session_.clear();
  body_at_ = chunk_at_ = length_ = 0;
  status_ = 0;
  has_length_ = chunked_ = events_ = false;
  keep_alive_ = true;
}

bool HttpAnswer::read_head() {
  size_t end = bytes_.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  std::string_view head = std::string_view(bytes_).substr(0, end + 2);
  size_t status = 0;
  if (head.size() > 12) number(head.substr(9, 3), 10, status);
  status_ = static_cast<int>(status);
  for_each_line(head, [&](std::string_view line) {
    size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string name = lower(line.substr(0, colon));
    std::string_view value = line.substr(std::min(line.size(), line.find_first_not_of(" \t", colon + 1)));
    if (name == "content-length") has_length_ = number(value, 10, length_);
    if (name == "transfer-encoding") chunked_ = lower(value) == "chunked";
    if (name == "content-type") events_ = value.substr(0, 17) == "text/event-stream";
    if (name == "connection") keep_alive_ = lower(value) != "close";
    if (name == "mcp-session-id") session_ = value;
  });
  body_at_ = chunk_at_ = end + 4;
  return true;
}

HttpAnswer::State HttpAnswer::feed(std::string_view bytes) {
  bytes_ += bytes;
  if (bytes_.size() > kMaxBytes) return State::broken;
  if (body_at_ == 0 && !read_head()) return State::more;
  if (status_ < 200) return State::broken;
  if (chunked_) return read_chunks();
  if (!has_length_ && status_ != 202 && status_ != 204) return State::more;
  if (bytes_.size() - body_at_ < length_) return State::more;
  body_ = bytes_.substr(body_at_, length_);
  return State::complete;
}

HttpAnswer::State HttpAnswer::end() {
  keep_alive_ = false;
  if (body_at_ == 0 || chunked_ || has_length_) return State::broken;
  body_ = bytes_.substr(body_at_);
  return State::complete;
}

HttpAnswer::State HttpAnswer::read_chunks() {
  for (;;) {
    std::string_view left = std::string_view(bytes_).substr(chunk_at_);
    size_t end = left.find("\r\n");
    if (end == std::string_view::npos) return State::more;
    size_t size = 0;
    if (!number(left.substr(0, end), 16, size)) return State::broken;
    left.remove_prefix(end + 2);
    if (left.size() < size + 2) return State::more;
    body_ += left.substr(0, size);
    chunk_at_ += end + 2 + size + 2;
    if (size == 0) return State::complete;
  }
}

std::string HttpAnswer::check(int64_t id, std::string_view nonce) const {
  if (status_ != 200) return fmt::format("status {}: {}", status_, body_.substr(0, 300));
  if (!events_) return check_message(body_, id, nonce);
  std::string wrong = "the stream held no answer";
  bool found = false;
  for_each_event(body_, [&](std::string_view data) {
    if (found) return;
    wrong = check_message(data, id, nonce);
    found = wrong.empty();
  });
  return wrong;
}

std::string HttpAnswer::check_progress(int64_t id, std::string_view nonce, std::string_view token,
                                       size_t count) const {
  size_t seen = 0;
  std::string wrong;
  for_each_event(body_, [&](std::string_view data) {
    if (seen == count || !wrong.empty()) return;
    const std::string progress = fmt::format(R"("progress":{},)", ++seen);
    const std::string same = fmt::format(R"("progressToken":"{}")", token);
    if (data.find(progress) == std::string_view::npos || data.find(same) == std::string_view::npos)
      wrong = fmt::format("event {} is {}", seen, data.substr(0, 300));
  });
  if (!wrong.empty() || seen == count) return wrong.empty() ? check(id, nonce) : wrong;
  return fmt::format("{} events instead of {}", seen, count);
}

std::string HttpAnswer::check_list(int64_t id, size_t tools) const {
  if (status_ != 200 || events_) return fmt::format("status {}: {}", status_, body_.substr(0, 300));
  if (body_.find(fmt::format("\"id\":{},", id)) == std::string::npos) return "another id";
  size_t count = 0;
  constexpr std::string_view kOnce = "\"inputSchema\"";
  for (size_t at = body_.find(kOnce); at != std::string::npos; at = body_.find(kOnce, at + kOnce.size()))
    ++count;
  return count == tools ? std::string() : fmt::format("{} tools instead of {}", count, tools);
}

}  // namespace bench
