#include "http2_front.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "world.h"

namespace lineward::sim {
namespace {

constexpr size_t kMostStreams = 20;  // of a connection; a client with more opens another

nghttp2_nv field(const std::string& name, const std::string& value) {
  auto bytes = [](const std::string& text) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

// Within the machine of the client.
Weather no_weather() {
  Weather none;
  none.delay = none.jitter = 0;
  none.split = 0;
  return none;
}

}  // namespace

struct Http2Callbacks {
  using Stream = Http2Front::Stream;
  static Stream* of(nghttp2_session* session, int32_t id) {
    return static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id));
  }
  static int header(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name,
                    size_t name_length, const uint8_t* value, size_t value_length, uint8_t, void*) {
    Stream* stream = of(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    const std::string key(reinterpret_cast<const char*>(name), name_length);
    const std::string text(reinterpret_cast<const char*>(value), value_length);
    if (key == ":status") {
      stream->status = std::atoi(text.c_str());
      return 0;
    }
    if (key == "content-length") stream->has_length = true;
    stream->fields += key + ": " + text + "\r\n";
    return 0;
  }
  static int frame(nghttp2_session* session, const nghttp2_frame* frame, void* front) {
    Http2Front& self = *static_cast<Http2Front*>(front);
    if (frame->hd.type == NGHTTP2_GOAWAY) self.going_ = true;
    Stream* stream = of(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    const bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_HEADERS && stream->status >= 200) {
      const bool empty = stream->status == 204 || (last && !stream->has_length);
      stream->chunked = !last && !stream->has_length && !empty;
      stream->waiting +=
          fmt::format("HTTP/1.1 {} Answered\r\nconnection: close\r\n{}{}\r\n", stream->status, stream->fields,
                      stream->chunked                ? "transfer-encoding: chunked\r\n"
                      : empty && !stream->has_length ? "content-length: 0\r\n"
                                                     : "");
    }
    if (last && (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)) {
      stream->complete = true;
      if (stream->chunked) stream->waiting += "0\r\n\r\n";
    }
    self.deliver(*stream);
    return 0;
  }
  static int data(nghttp2_session* session, uint8_t, int32_t id, const uint8_t* bytes, size_t length, void*) {
    Stream* stream = of(session, id);
    if (stream == nullptr) {
      nghttp2_session_consume_connection(session, length);
      return 0;
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes), length);
    if (stream->chunked) stream->waiting += fmt::format("{:x}\r\n{}\r\n", length, text);
    if (!stream->chunked) stream->waiting += text;
    stream->credit += length;
    return 0;
  }
  static int closed(nghttp2_session* session, int32_t id, uint32_t error, void* front) {
    if (Stream* stream = of(session, id)) static_cast<Http2Front*>(front)->stream_over(*stream, error);
    return 0;
  }
  static ssize_t body(nghttp2_session* session, int32_t id, uint8_t* to, size_t room, uint32_t* flags,
                      nghttp2_data_source*, void*) {
    Stream* stream = of(session, id);
    if (stream == nullptr || stream->link->to_gateway.broken()) return NGHTTP2_ERR_DEFERRED;
    const std::string_view ready = stream->link->to_gateway.ready();
    const uint64_t at = stream->head + stream->framed - stream->taken;
    const uint64_t there = ready.size() > at ? ready.size() - at : 0;
    const size_t count =
        std::min({room, static_cast<size_t>(there), static_cast<size_t>(stream->body - stream->framed)});
    if (count == 0) return NGHTTP2_ERR_DEFERRED;
    std::memcpy(to, ready.data() + at, count);
    stream->framed += count;
    stream->untaken += count;
    if (stream->framed == stream->body) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  }
};

Http2Front::Http2Front(World& world, std::shared_ptr<Link> outer, Random random)
    : world_(world), outer_(std::move(outer)), out_(std::make_unique<Writer>(outer_)), random_(random) {}

Http2Front::~Http2Front() {
  outer_->from_gateway.on_ready = nullptr;
  for (auto& [link, stream] : streams_)
    stream->link->to_gateway.on_ready = stream->link->from_gateway.on_room = nullptr;
  nghttp2_session_del(session_);
}

std::shared_ptr<Http2Front> Http2Front::open(World& world, std::shared_ptr<Link> outer, Random random) {
  std::shared_ptr<Http2Front> front(new Http2Front(world, std::move(outer), random));
  front->begin();
  return front;
}

void Http2Front::begin() {
  nghttp2_session_callbacks* calls = nullptr;
  nghttp2_session_callbacks_new(&calls);
  nghttp2_session_callbacks_set_on_header_callback(calls, Http2Callbacks::header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(calls, Http2Callbacks::frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, Http2Callbacks::data);
  nghttp2_session_callbacks_set_on_stream_close_callback(calls, Http2Callbacks::closed);
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_session_client_new2(&session_, calls, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(calls);
  const uint32_t window = random_.percent(70) ? 65535 : static_cast<uint32_t>(random_.between(200, 20000));
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                             {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 2);
  outer_->from_gateway.on_ready = [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->read();
  };
  flush();
}

bool Http2Front::takes_streams() const {
  return !going_ && !gone_ && streams_.size() < kMostStreams;
}

std::shared_ptr<Link> Http2Front::stream() {
  auto link = std::make_shared<Link>(world_, Random(random_.next()), no_weather(), outer_->peer);
  link->carrier = outer_;
  auto stream = std::make_shared<Stream>();
  stream->link = link;
  streams_[link.get()] = stream;
  link->to_gateway.on_ready = [weak = weak_from_this(), here = link.get()] {
    if (auto self = weak.lock()) self->read_request(here);
  };
  return link;
}

void Http2Front::read_request(const Link* link) {
  auto found = streams_.find(link);
  if (found == streams_.end()) return;
  const std::shared_ptr<Stream> stream = found->second;
  Way& in = stream->link->to_gateway;
  if (stream->id < 0 && !in.broken()) {
    const size_t end = in.ready().find("\r\n\r\n");
    if (end != std::string_view::npos) submit(*stream, in.ready().substr(0, end + 2));
  } else if (stream->id >= 0 && stream->framed < stream->body) {
    nghttp2_session_resume_data(session_, stream->id);
  }
  if ((in.end_has_arrived() || in.broken()) && !stream->left) {
    stream->left = true;
    if (stream->id >= 0 && !stream->over) {
      // Sent behind what was framed of the request in this moment.
      flush();
      stream->tells_left = !stream->complete;
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_CANCEL);
    }
  }
  flush();
  sweep();
}

void Http2Front::submit(Stream& stream, std::string_view head) {
  std::vector<std::pair<std::string, std::string>> fields;
  const std::string_view first = head.substr(0, head.find("\r\n"));
  const size_t space = first.find(' '), second = first.rfind(' ');
  fields.emplace_back(":method", first.substr(0, space));
  fields.emplace_back(":scheme", "http");
  fields.emplace_back(":path", first.substr(space + 1, second - space - 1));
  std::vector<std::pair<std::string, std::string>> others;
  for (size_t at = first.size() + 2; at < head.size();) {
    const size_t end = head.find("\r\n", at);
    const std::string_view line = head.substr(at, end - at);
    at = end + 2;
    std::string name(line.substr(0, line.find(':')));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string value(line.substr(line.find(':') + 2));
    if (name == "content-length") stream.body = std::strtoull(value.c_str(), nullptr, 10);
    if (name == "host")
      fields.emplace_back(":authority", value);
    else
      others.emplace_back(name, value);
  }
  fields.insert(fields.end(), others.begin(), others.end());
  std::vector<nghttp2_nv> all;
  for (const auto& [name, value] : fields)
    all.push_back(field(name, value));
  nghttp2_data_provider provider{};
  provider.read_callback = Http2Callbacks::body;
  stream.head = head.size() + 2;
  stream.untaken = stream.head;
  stream.id = nghttp2_submit_request(session_, nullptr, all.data(), all.size(),
                                     stream.body > 0 ? &provider : nullptr, &stream);
}

void Http2Front::read() {
  if (gone_) return;
  Way& in = outer_->from_gateway;
  while (!gone_ && !in.ready().empty()) {
    const std::string bytes(in.ready());
    in.take(bytes.size());
    if (nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) <
        0) {
      world_.tell("what the gateway sent is no HTTP/2");
      close(true);
      return;
    }
  }
  flush();
  if (!gone_ && (in.at_end() || in.broken())) {
    gone_ = true;
    out_->end();
    lose_all();
  }
  sweep();
}

void Http2Front::deliver(Stream& stream) {
  Way& back = stream.link->from_gateway;
  while (!stream.waiting.empty()) {
    const size_t taken = back.write(stream.waiting);
    if (taken == 0 && !back.ended()) {
      back.on_room = [weak = weak_from_this(), link = stream.link.get()] {
        auto self = weak.lock();
        if (!self) return;
        auto found = self->streams_.find(link);
        if (found == self->streams_.end()) return;
        const std::shared_ptr<Stream> here = found->second;
        self->deliver(*here);
        self->flush();
        self->sweep();
      };
      return;
    }
    stream.waiting.erase(0, taken == 0 ? stream.waiting.size() : taken);
  }
  if (stream.credit > 0 && stream.id >= 0) {
    if (!stream.over) nghttp2_session_consume(session_, stream.id, stream.credit);
    if (stream.over) nghttp2_session_consume_connection(session_, stream.credit);
    stream.credit = 0;
  }
  if (!stream.over || back.ended()) return;
  if (stream.broken)
    back.reset();
  else
    back.end();
  stream.link->gateway_closed = true;
  stream.link->gateway_closed_at = world_.now();
  stream.link->to_gateway.close_reader();
}

void Http2Front::stream_over(Stream& stream, uint32_t error) {
  if (stream.over) return;
  nghttp2_session_set_stream_user_data(session_, stream.id, nullptr);
  stream.over = true;
  stream.broken = !stream.complete;
  if (error == NGHTTP2_REFUSED_STREAM) stream.link->unprocessed = true;
  deliver(stream);
}

void Http2Front::flush() {
  if (flushing_ || gone_) return;
  flushing_ = true;
  const uint8_t* bytes = nullptr;
  for (ssize_t count = 0; (count = nghttp2_session_mem_send(session_, &bytes)) > 0;)
    out_->write(std::string_view(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count)));
  flushing_ = false;
  for (auto& [link, stream] : streams_) {
    if (stream->untaken > 0) {
      out_->when_read([here = stream, count = std::exchange(stream->untaken, 0)] {
        if (here->link->to_gateway.broken() || here->link->to_gateway.reader_gone()) return;
        here->taken += count;
        here->link->to_gateway.take(count);
      });
    }
    if (std::exchange(stream->tells_left, false)) {
      out_->when_read([here = stream->link] {
        if (here->gateway_saw_end < 0) here->gateway_saw_end = world().now();
      });
    }
  }
  if (going_ && nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0)
    close(false);
}

void Http2Front::lose_all() {
  for (auto& [link, stream] : streams_) {
    if (stream->over) continue;
    stream->over = stream->broken = true;
    // A connection that was kept ended as it was used again.
    if (stream->id > 1 && stream->link->to_gateway.consumed() == 0) stream->link->unprocessed = true;
    deliver(*stream);
  }
}

void Http2Front::close(bool reset) {
  if (gone_) return;
  gone_ = true;
  if (reset)
    outer_->to_gateway.reset();
  else
    out_->end();
  outer_->from_gateway.close_reader();
  lose_all();
}

void Http2Front::sweep() {
  std::erase_if(streams_, [](const auto& one) {
    const Stream& stream = *one.second;
    const bool unsaid = stream.id < 0 && stream.left;
    return unsaid || (stream.over && stream.waiting.empty());
  });
}

}  // namespace lineward::sim
