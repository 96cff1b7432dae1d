#include "http_text.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace lineward::sim {

std::string Head::word(size_t index) const {
  size_t at = 0;
  for (size_t i = 0; i < index; ++i) {
    at = first.find(' ', at);
    if (at == std::string::npos) return {};
    ++at;
  }
  return first.substr(at, first.find(' ', at) - at);
}

bool HttpReader::head_complete(std::string_view text) {
  Head head;
  size_t at = text.find("\r\n");
  head.first = text.substr(0, at);
  at += 2;
  while (at < text.size()) {
    const size_t end = text.find("\r\n", at);
    std::string_view one = text.substr(at, end - at);
    at = end + 2;
    const size_t colon = one.find(':');
    if (colon == std::string_view::npos) return fail("a line of the head without a colon");
    std::string name(one.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    one.remove_prefix(colon + 1);
    while (!one.empty() && one.front() == ' ')
      one.remove_prefix(1);
    head.fields[name] = one;
  }
  const std::string length = head.field("content-length");
  if (head.field("transfer-encoding") == "chunked") {
    state_ = State::chunk_size;
  } else if (!length.empty()) {
    left_ = std::strtoull(length.c_str(), nullptr, 10);
    state_ = State::length;
  } else if (responses_ && head.word(1) != "204" && head.word(1) != "202" && head.word(1)[0] != '1') {
    state_ = State::until_end;
  } else {
    left_ = 0;
    state_ = State::length;
  }
  if (on_head) on_head(head);
  if (state_ == State::length && left_ == 0) done();
  return true;
}

void HttpReader::done() {
  state_ = State::head;
  if (on_done) on_done();
}

bool HttpReader::feed(std::string_view bytes) {
  buffer_ += bytes;
  for (;;) {
    switch (state_) {
      case State::head: {
        const size_t end = buffer_.find("\r\n\r\n");
        if (end == std::string::npos) return true;
        const std::string text = buffer_.substr(0, end + 2);
        buffer_.erase(0, end + 4);
        if (!head_complete(text)) return false;
        break;
      }
      case State::until_end: {
        if (buffer_.empty()) return true;
        const std::string piece = std::move(buffer_);
        buffer_.clear();
        if (on_body) on_body(piece);
        return true;
      }
      case State::length:
      case State::chunk: {
        if (buffer_.empty()) return true;
        const std::string piece = buffer_.substr(0, left_);
        buffer_.erase(0, piece.size());
        left_ -= piece.size();
        const bool whole = left_ == 0;
        const bool chunk = state_ == State::chunk;
        if (whole && chunk) state_ = State::chunk_end;
        if (on_body) on_body(piece);
        if (whole && !chunk) done();
        break;
      }
      case State::chunk_size: {
        const size_t end = buffer_.find("\r\n");
        if (end == std::string::npos) return true;
        char* rest = nullptr;
        left_ = std::strtoull(buffer_.c_str(), &rest, 16);
        if (rest != buffer_.c_str() + end || end == 0)
          return fail("no size of a chunk: " + buffer_.substr(0, end));
        buffer_.erase(0, end + 2);
        state_ = left_ == 0 ? State::trailer : State::chunk;
        break;
      }
      case State::chunk_end: {
        if (buffer_.size() < 2) return true;
        if (buffer_.compare(0, 2, "\r\n") != 0) return fail("no end of a chunk");
        buffer_.erase(0, 2);
        state_ = State::chunk_size;
        break;
      }
      case State::trailer: {
        if (buffer_.size() < 2) return true;
        if (buffer_.compare(0, 2, "\r\n") != 0) return fail("a trailer");
        buffer_.erase(0, 2);
        done();
        break;
      }
    }
  }
}

bool HttpReader::end() {
  if (state_ == State::until_end) {
    done();
    return true;
  }
  return idle();
}

void EventReader::feed(std::string_view bytes) {
  buffer_ += bytes;
  size_t at = 0;
  for (size_t end; (end = buffer_.find('\n', at)) != std::string::npos; at = end + 1)
    line(std::string_view(buffer_).substr(at, end - at));
  buffer_.erase(0, at);
}

void EventReader::line(std::string_view text) {
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (text.empty()) {
    const bool had = has_data_;
    std::string data = std::move(data_);
    data_.clear();
    has_data_ = false;
    if (had && on_event) on_event(id_, data);
    return;
  }
  const size_t colon = text.find(':');
  if (colon == 0) return;
  std::string_view name = text.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  if (name == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  } else if (name == "id") {
    id_ = value;
  }
}

}  // namespace lineward::sim
