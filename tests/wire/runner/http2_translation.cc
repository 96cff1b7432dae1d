#include "http2_translation.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

#include "http_connection.h"

namespace lineward::wire {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t") - start + 1);
}

// Fields that speak of one connection: HTTP/2 has none of them (RFC 9113, 8.2.2).
bool is_of_connection(const std::string& name) {
  for (const char* one : {"host", "connection", "transfer-encoding", "keep-alive", "upgrade", "te", "expect"})
    if (name == one) return true;
  return false;
}

uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
}

size_t number_of(std::string_view text, int base) {
  size_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end == text.data()) throw WireError("not a length: " + std::string(text));
  return value;
}

}  // namespace

struct Http2Translation::Stream {
  enum class Body { none, length, chunked };

  // The request.
  Body body = Body::none;
  size_t left = 0;  // of the body, or of a chunk
  bool in_chunk = false;
  std::string pending;  // not yet in a DATA frame
  bool complete = false;

  // The answer.
  std::string head, text;  // text: in HTTP/1.1's words, not given yet
  int status = 0;
  bool head_is_written = false, has_length = false, ended = false, reset = false;
};

struct Http2Translation::Callbacks {
  static Http2Translation& self(void* of) { return *static_cast<Http2Translation*>(of); }
  static Stream* stream(void* of, int id) {
    auto& streams = self(of).streams_;
    const auto found = streams.find(id);
    return found == streams.end() ? nullptr : found->second.get();
  }

  static ssize_t read_body(nghttp2_session*, int32_t id, uint8_t* to, size_t size, uint32_t* flags,
                           nghttp2_data_source*, void* of) {
    Stream* one = stream(of, id);
    if (one == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const size_t part = std::min(size, one->pending.size());
    std::copy_n(one->pending.data(), part, to);
    one->pending.erase(0, part);
    if (one->complete && one->pending.empty()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (part == 0) {
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(part);
  }

  static int header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                    const uint8_t* value, size_t value_size, uint8_t, void* of) {
    Stream* one = stream(of, frame->hd.stream_id);
    if (one == nullptr) return 0;
    const std::string_view field(reinterpret_cast<const char*>(name), name_size);
    const std::string_view content(reinterpret_cast<const char*>(value), value_size);
    if (field == ":status") {
      one->head = fmt::format("HTTP/1.1 {} \r\n", content);
      one->status = static_cast<int>(number_of(content, 10));
      return 0;
    }
    one->has_length = one->has_length || field == "content-length";
    one->head += fmt::format("{}: {}\r\n", field, content);
    return 0;
  }

  static int frame(nghttp2_session*, const nghttp2_frame* frame, void* of) {
    Stream* one = stream(of, frame->hd.stream_id);
    if (one == nullptr) return 0;
    const bool end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_HEADERS && !one->head_is_written) {
      const bool bodiless = one->status == 204 || one->status == 304 || one->status < 200;
      if (end && !one->has_length && !bodiless) one->head += "content-length: 0\r\n";
      if (!end && !one->has_length && !bodiless) one->head += "transfer-encoding: chunked\r\n";
      one->has_length = one->has_length || end || bodiless;
      one->text += one->head + "\r\n";
      one->head_is_written = one->status >= 200;
      one->head.clear();
      if (one->status < 200) one->has_length = false;
    }
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) && end && !one->ended) {
      if (!one->has_length) one->text += "0\r\n\r\n";
      one->ended = true;
    }
    return 0;
  }

  static int data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size, void* of) {
    Stream* one = stream(of, id);
    if (one == nullptr || size == 0) return 0;
    if (!one->has_length) one->text += fmt::format("{:x}\r\n", size);
    one->text.append(reinterpret_cast<const char*>(bytes), size);
    if (!one->has_length) one->text += "\r\n";
    return 0;
  }

  static int closed(nghttp2_session*, int32_t id, uint32_t, void* of) {
    if (Stream* one = stream(of, id); one != nullptr && !one->ended) one->reset = true;
    return 0;
  }
};

Http2Translation::Http2Translation(std::string scheme) : scheme_(std::move(scheme)) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::closed);
  nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
}

Http2Translation::~Http2Translation() {
  nghttp2_session_del(session_);
}

void Http2Translation::begin_request(std::string_view head) {
  auto one = std::make_unique<Stream>();
  const auto line_end = head.find("\r\n");
  const auto line = head.substr(0, line_end);
  const auto first = line.find(' ');
  const auto second = line.rfind(' ');
  if (first == std::string_view::npos || first == second || line.substr(second) != " HTTP/1.1")
    throw WireError("has no form in HTTP/2: " + std::string(line));
  std::vector<std::pair<std::string, std::string>> fields = {
      {":method", std::string(line.substr(0, first))},
      {":scheme", scheme_},
      {":path", std::string(line.substr(first + 1, second - first - 1))}};
  std::string authority;
  for (auto rest = head.substr(line_end + 2); !rest.empty() && rest != "\r\n";) {
    const auto end = rest.find("\r\n");
    const auto field = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    const auto colon = field.find(':');
    if (colon == std::string_view::npos || field.front() == ' ' || field.front() == '\t')
      throw WireError("has no form in HTTP/2: " + std::string(field));
    const auto name = lower(field.substr(0, colon));
    const auto value = trimmed(field.substr(colon + 1));
    if (name == "host") authority = value;
    if (name == "content-length") {
      one->body = Stream::Body::length;
      one->left = number_of(value, 10);
    }
    if (name == "transfer-encoding") one->body = Stream::Body::chunked;
    if (!is_of_connection(name)) fields.emplace_back(name, value);
  }
  if (!authority.empty()) fields.insert(fields.begin() + 3, {":authority", authority});
  one->complete = one->body == Stream::Body::none || (one->body == Stream::Body::length && one->left == 0);

  std::vector<nghttp2_nv> list;
  for (const auto& [name, value] : fields)
    list.push_back({bytes_of(name), bytes_of(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  nghttp2_data_provider body{};
  body.read_callback = Callbacks::read_body;
  const int id = nghttp2_submit_request(session_, nullptr, list.data(), list.size(),
                                        one->complete ? nullptr : &body, nullptr);
  if (id < 0) throw WireError(std::string("no HTTP/2 stream: ") + nghttp2_strerror(id));
  sending_ = one->complete ? nullptr : one.get();
  order_.push_back(id);
  streams_[id] = std::move(one);
}

void Http2Translation::send(std::string_view text) {
  unsent_ += text;
  while (!unsent_.empty()) {
    if (sending_ == nullptr) {
      const auto end = unsent_.find("\r\n\r\n");
      if (end == std::string::npos) return;
      begin_request(std::string_view(unsent_).substr(0, end + 2));
      unsent_.erase(0, end + 4);
      continue;
    }
    Stream& one = *sending_;
    if (one.body == Stream::Body::chunked && one.left == 0 && !take_chunk_size(one)) return;
    const size_t part = std::min(one.left, unsent_.size());
    if (part > 0 && !one.complete) {
      one.pending.append(unsent_, 0, part);
      unsent_.erase(0, part);
      one.left -= part;
    }
    if (one.body == Stream::Body::length && one.left == 0) one.complete = true;
    for (const auto& [id, stream] : streams_)
      if (stream.get() == &one) nghttp2_session_resume_data(session_, id);
    if (one.complete) sending_ = nullptr;
  }
}

// "SIZE\r\n" before a chunk, with the CRLF that ends the chunk before it; after the last one the trailers
// too.
bool Http2Translation::take_chunk_size(Stream& one) {
  const size_t from = one.in_chunk ? 2 : 0;
  const auto end = unsent_.find("\r\n", from);
  if (unsent_.size() < from || end == std::string::npos) return false;
  one.left = number_of(std::string_view(unsent_).substr(from, end - from), 16);
  auto taken = end + 2;
  if (one.left == 0) {
    const auto last = unsent_.find("\r\n\r\n", end);
    if (last == std::string::npos) return false;
    taken = last + 4;
    one.complete = true;
  }
  unsent_.erase(0, taken);
  one.in_chunk = true;
  return true;
}

bool Http2Translation::has_unsent() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const auto& entry) {
    const Stream& one = *entry.second;
    return !one.pending.empty() && !one.ended && !one.reset;
  });
}

void Http2Translation::receive(std::string_view bytes, std::string& text) {
  const auto taken = nghttp2_session_mem_recv(session_, bytes_of(bytes), bytes.size());
  if (taken < 0)
    throw WireError(std::string("the gateway's HTTP/2: ") + nghttp2_strerror(static_cast<int>(taken)));
  emit(text);
}

void Http2Translation::emit(std::string& text) {
  while (!order_.empty()) {
    Stream& one = *streams_[order_.front()];
    text += std::exchange(one.text, {});
    cut_ = cut_ || (one.reset && !one.ended);
    if (!one.ended) return;
    if (sending_ == &one) return;  // its answer came before its end: the rest is still to be sent
    streams_.erase(order_.front());
    order_.pop_front();
  }
}

std::string Http2Translation::take_frames() {
  std::string out;
  for (;;) {
    const uint8_t* bytes = nullptr;
    const auto size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0)
      throw WireError(std::string("no HTTP/2 frame: ") + nghttp2_strerror(static_cast<int>(size)));
    if (size == 0) return out;
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  }
}

void Http2Translation::reset_streams() {
  for (const int id : order_)
    if (!streams_[id]->ended) nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
}

}  // namespace lineward::wire
