#include "protocol/http/answer_reader.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "protocol/http/header_list.h"

namespace lineward::http {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr size_t kMostHead = 1 << 20;
constexpr size_t kMostSizeLine = 32;

template <class T>
bool parse_whole(std::string_view text, int base, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void AnswerReader::begin(bool to_head_request) {
  state_ = State::head;
  to_head_request_ = to_head_request;
  text_.clear();
  left_ = 0;
}

void AnswerReader::finish(AnswerParts& parts) {
  state_ = State::complete;
  parts.complete = true;
}

// text_ has a whole head, with the empty line.
bool AnswerReader::read_head(AnswerParts& parts) {
  std::string_view rest = text_;
  AnswerHead head;
  std::optional<uint64_t> length;
  bool chunked = false;
  for (bool first = true; !rest.empty(); first = false) {
    const size_t end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    if (line.empty()) break;
    if (first) {
      if (line.size() < 12 || line.substr(0, 7) != "HTTP/1." ||
          !parse_whole(line.substr(9, 3), 10, head.status))
        return false;
      continue;
    }
    const size_t colon = line.find(": ");
    if (colon == std::string_view::npos) return false;
    std::string name = lower_case(line.substr(0, colon));
    const std::string_view value = line.substr(colon + 2);
    if (name == "connection") {
      if (value == "close") parts.keeps_connection = false;
      continue;
    }
    if (name == "keep-alive") continue;
    if (name == "transfer-encoding") {
      chunked = true;
      continue;
    }
    if (name == "content-length") {
      uint64_t bytes = 0;
      if (!parse_whole(value, 10, bytes)) return false;
      length = bytes;
    }
    head.fields.emplace_back(std::move(name), value);
  }
  text_.clear();
  const int status = head.status;
  parts.heads.push_back(std::move(head));
  if (status < 200) return true;  // another head follows
  left_ = length.value_or(0);
  if (to_head_request_ || status == 204 || status == 304 || (!chunked && left_ == 0)) {
    finish(parts);
  } else {
    state_ = chunked ? State::chunk_size : State::length;
  }
  return true;
}

// text_ has the size of a chunk, and its line break.
bool AnswerReader::begin_chunk() {
  const bool valid = parse_whole(std::string_view(text_).substr(0, text_.size() - 2), 16, left_);
  text_.clear();
  state_ = left_ > 0 ? State::chunk : State::last_line;
  return valid;
}

bool AnswerReader::take(std::string bytes, AnswerParts& parts) {
  size_t at = 0;
  // Moves the bytes to text_ up to the end of `mark`. False: it is not there yet.
  const auto take_until = [&](std::string_view mark) {
    // It may have begun in text_; else only what is in front of it is copied.
    for (size_t joint = std::min(text_.size(), mark.size() - 1); joint > 0; --joint) {
      const std::string_view rest = mark.substr(joint);
      if (std::string_view(text_).substr(text_.size() - joint) != mark.substr(0, joint)) continue;
      if (std::string_view(bytes).substr(at, rest.size()) != rest) continue;
      text_ += rest;
      at += rest.size();
      return true;
    }
    const size_t found = bytes.find(mark, at);
    const size_t end = found == std::string::npos ? bytes.size() : found + mark.size();
    text_.append(bytes, at, end - at);
    at = end;
    return found != std::string::npos;
  };
  while (at < bytes.size()) {
    switch (state_) {
      case State::complete: return false;
      case State::head:
        if (take_until(kEndOfHead) && !read_head(parts)) return false;
        if (text_.size() > kMostHead) return false;
        break;
      case State::length:
      case State::chunk: {
        const size_t part = static_cast<size_t>(std::min<uint64_t>(left_, bytes.size() - at));
        left_ -= part;
        const bool whole = at == 0 && part == bytes.size();
        parts.pieces.push_back(whole ? std::move(bytes) : bytes.substr(at, part));
        if (left_ == 0) {
          if (state_ == State::length) {
            finish(parts);
          } else {
            state_ = State::chunk_end;
          }
        }
        if (whole) return true;
        at += part;
        break;
      }
      case State::chunk_end:
        if (take_until("\r\n")) {
          if (text_ != "\r\n") return false;
          text_.clear();
          state_ = State::chunk_size;
        }
        if (text_.size() > 1) return false;
        break;
      case State::chunk_size:
        if (take_until("\r\n") && !begin_chunk()) return false;
        if (text_.size() > kMostSizeLine) return false;
        break;
      case State::last_line:
        if (take_until("\r\n")) {
          if (text_ != "\r\n") return false;
          text_.clear();
          finish(parts);
        }
        if (text_.size() > 1) return false;
        break;
    }
  }
  return true;
}

}  // namespace lineward::http
