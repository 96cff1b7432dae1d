#include "protocol/http/sse_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "foundation/base/string_pool.h"
#include "protocol/http/char_class.h"

namespace lineward::http {

namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";
constexpr size_t kKeptCapacity = 64 * 1024;  // of the buffer, once it is empty
constexpr size_t kFirstWindow = 64;          // most lines are short
constexpr size_t kRewritten = 16;            // an id or token may become so much longer
constexpr size_t kMaxWindow = 64 * 1024;
constexpr uint64_t kMaxRetry = 24ull * 60 * 60 * 1000;

// The end of the line that continues at `from`; the size of the text if it has not arrived. With a CR in the
// text the search window grows: if all lines end in CR, a search for LF would scan the whole buffer for each.
size_t line_end(const std::string& text, size_t from, bool has_cr) {
  if (!has_cr) return std::min(text.find('\n', from), text.size());
  for (size_t window = kFirstWindow; from < text.size(); window = std::min(window * 2, kMaxWindow)) {
    const char* const begin = text.data() + from;
    const auto find = [begin](char end, size_t within) {
      const void* at = within == 0 ? nullptr : std::memchr(begin, end, within);
      return at == nullptr ? within : static_cast<size_t>(static_cast<const char*>(at) - begin);
    };
    const size_t within = std::min(window, text.size() - from);
    const size_t end = find('\r', find('\n', within));
    if (end < within) return from + end;
    from += within;
  }
  return text.size();
}

// The text after "data:", or empty.
std::optional<std::string_view> data_of(std::string_view line) {
  constexpr std::string_view kName = "data:";
  if (line.substr(0, kName.size()) != kName) return std::nullopt;
  line.remove_prefix(kName.size());
  if (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  return line;
}

}  // namespace

void SseParser::append(std::string_view bytes) {
  if (!fault_.empty()) return;
  if (at_ == buffer_.size()) {
    if (buffer_.capacity() > kKeptCapacity) std::string().swap(buffer_);
    buffer_.clear();
    at_ = scanned_ = 0;
    has_cr_ = false;
  } else if (at_ > buffer_.size() / 2) {
    buffer_.erase(0, at_);
    scanned_ -= at_;
    at_ = 0;
  }
  buffer_.append(bytes);
  has_cr_ = has_cr_ || bytes.find('\r') != std::string_view::npos;
}

SseParser::Next SseParser::next() {
  if (!fault_.empty()) return Next::failed;
  if (!pass_mark()) return Next::need_more;
  std::string_view line;
  for (;;) {
    switch (take_line(line)) {
      case Line::none: outline_partial(); return Next::need_more;
      case Line::too_long:
        return fail(fmt::format("A line of an event must not have more than {} bytes.", limits_.line_bytes));
      case Line::whole: break;
    }
    if (line.empty()) {
      if (dispatch()) return Next::event;
      ++empty_lines_;
    } else if (!on_field(line)) {
      return fail(fmt::format("An event must not have more than {} bytes of data.", limits_.event_bytes));
    }
  }
}

void SseParser::restart() {
  std::string().swap(buffer_);
  at_ = scanned_ = 0;
  has_cr_ = false;
  at_start_ = true;
  skip_lf_ = false;
  std::string().swap(data_);
  has_data_ = false;
  arriving_.take();
  outline_.reset();
  type_.clear();
  coming_id_ = id_;
  fault_.clear();
}

// False while the bytes may still become a byte order mark.
bool SseParser::pass_mark() {
  if (!at_start_) return true;
  std::string_view start = std::string_view(buffer_).substr(at_, kMark.size());
  if (start != kMark.substr(0, start.size())) {
    at_start_ = false;
  } else if (start.size() == kMark.size()) {
    at_start_ = false;
    scanned_ = at_ += kMark.size();
  }
  return !at_start_;
}

// `line` is valid until the next append().
SseParser::Line SseParser::take_line(std::string_view& line) {
  if (skip_lf_ && at_ < buffer_.size()) {
    if (buffer_[at_] == '\n') scanned_ = ++at_;
    skip_lf_ = false;
  }
  const size_t end = line_end(buffer_, scanned_, has_cr_);
  size_t size = end - at_;
  if (size > limits_.line_bytes) return Line::too_long;
  scanned_ = end;
  if (end == buffer_.size()) return Line::none;
  line = std::string_view(buffer_).substr(at_, size);
  skip_lf_ = buffer_[end] == '\r';
  scanned_ = at_ = end + 1;
  return Line::whole;
}

// False when the event exceeds its limit.
bool SseParser::on_field(std::string_view line) {
  if (const auto data = data_of(line)) return add_data(*data);  // nearly all
  size_t colon = line.find(':');
  if (colon == 0) {
    ++empty_lines_;
    return true;
  }
  std::string_view name = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  if (name == "data") {  // without a colon
    return add_data(value);
  } else if (name == "event") {
    type_ = value;
  } else if (name == "id") {
    if (value.size() <= kMaxEventId && value.find('\0') == std::string_view::npos) coming_id_ = value;
  } else if (name == "retry") {
    set_retry(value);
  }
  return true;
}

bool SseParser::add_data(std::string_view value) {
  size_t join = has_data_ ? 1 : 0;
  if (data_.size() + join + value.size() > limits_.event_bytes) return false;
  if (!has_data_) {
    arriving_.more(value);
    StringPool::renew(data_, value.size() + kRewritten);
  }
  outline_ = arriving_.take();
  if (join != 0) {
    data_ += '\n';
    outline_.reset();
  }
  data_.append(value);
  has_data_ = true;
  return true;
}

// Outlines a line that is not complete yet.
void SseParser::outline_partial() {
  if (has_data_ || buffered() < json::ArrivingOutline::kFrom) return;
  if (auto value = data_of(std::string_view(buffer_).substr(at_))) arriving_.more(*value);
}

// A time beyond a day counts as a day.
void SseParser::set_retry(std::string_view digits) {
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return;
  uint64_t value = 0;
  for (char c : digits)
    value = std::min(value * 10 + static_cast<uint64_t>(c - '0'), kMaxRetry);
  retry_ = std::chrono::milliseconds(value);
  retry_told_ = false;
}

// Called at an empty line. False when the event has no data, so that it is not dispatched.
bool SseParser::dispatch() {
  if (coming_id_ != id_) id_ = coming_id_;
  if (!has_data_) {
    type_.clear();
    return false;
  }
  has_data_ = false;
  ready_.data = std::exchange(data_, {});
  ready_.outline = std::move(outline_);
  if (type_.empty()) {
    ready_.event = "message";
  } else {
    ready_.event = std::exchange(type_, {});
  }
  ready_.id = id_;
  ready_.retry = std::exchange(retry_told_, true) ? std::nullopt : retry_;
  return true;
}

SseParser::Next SseParser::fail(std::string text) {
  fault_ = std::move(text);
  std::string().swap(buffer_);
  at_ = scanned_ = 0;
  std::string().swap(data_);
  arriving_.take();
  outline_.reset();
  return Next::failed;
}

}  // namespace lineward::http
