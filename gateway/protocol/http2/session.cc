#include "protocol/http2/session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "foundation/base/check.h"

namespace lineward::http2 {
namespace {

// Values that no attacker on the way may guess by the compressed size (RFC 7541, 7.1.3).
constexpr std::array<std::string_view, 6> kSecret{"mcp-session-id", "set-cookie",          "www-authenticate",
                                                  "authorization",  "proxy-authorization", "cookie"};

std::string_view text_of(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

bool is_first(const nghttp2_frame& frame) {
  return frame.headers.cat == NGHTTP2_HCAT_REQUEST || frame.headers.cat == NGHTTP2_HCAT_RESPONSE;
}

// Frames that continue a head: with the first one as many as the gate permits.
constexpr size_t kContinuations = 15;

// The gate's limits hold, not those that later versions of the library add. Any Options are nghttp2_option.
template <typename Options>
void lift_own_limits(Options* options) {
  if constexpr (requires { nghttp2_option_set_stream_reset_rate_limit(options, 1, 1); })
    nghttp2_option_set_stream_reset_rate_limit(options, UINT32_MAX, UINT32_MAX);
  if constexpr (requires { nghttp2_option_set_max_continuations(options, 1); })
    nghttp2_option_set_max_continuations(options, kContinuations);
}

}  // namespace

// Callbacks of nghttp2. None of them may call it, but for nghttp2_submit_* and nghttp2_session_consume*.
struct Session::Library {
  static Session& of(void* user) { return *static_cast<Session*>(user); }

  static int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_PUSH_PROMISE) {
      of(user).pushed_ = true;
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (frame->hd.type == NGHTTP2_HEADERS)
      of(user).events_.on_head_begins(frame->hd.stream_id, is_first(*frame));
    return 0;
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                       const uint8_t* value, size_t value_size, uint8_t, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    const bool goes_on = of(user).events_.on_field(frame->hd.stream_id, is_first(*frame),
                                                   text_of(name, name_size), text_of(value, value_size));
    return goes_on ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  // A message without a field that came is another message.
  static int on_invalid_header(nghttp2_session*, const nghttp2_frame*, const uint8_t*, size_t, const uint8_t*,
                               size_t, uint8_t, void*) {
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    SessionEvents& events = of(user).events_;
    const int32_t id = frame->hd.stream_id;
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS: events.on_head(id, is_first(*frame), ends); break;
      case NGHTTP2_DATA:
        if (ends) events.on_body_end(id);
        break;
      case NGHTTP2_RST_STREAM: events.on_reset(id, frame->rst_stream.error_code); break;
      case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) events.on_settings();
        break;
      case NGHTTP2_GOAWAY: events.on_goaway(frame->goaway.error_code); break;
      default: break;
    }
    return 0;
  }

  static int on_invalid_frame(nghttp2_session*, const nghttp2_frame* frame, int error, void* user) {
    of(user).events_.on_invalid(frame->hd.stream_id, nghttp2_strerror(error));
    return 0;
  }

  static int on_data_chunk(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size,
                           void* user) {
    of(user).events_.on_body(id, text_of(bytes, size));
    return 0;
  }

  static int on_frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    const bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!carries) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS) of(user).events_.on_head_sent(frame->hd.stream_id);
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) of(user).events_.on_end_sent(frame->hd.stream_id);
    return 0;
  }

  static int on_frame_not_sent(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
    if (frame->hd.type == NGHTTP2_HEADERS) of(user).events_.on_head_not_sent(frame->hd.stream_id);
    return 0;
  }

  static int on_stream_close(nghttp2_session*, int32_t id, uint32_t error, void* user) {
    of(user).events_.on_stream_closed(id, error);
    return 0;
  }

  static ssize_t read_body(nghttp2_session*, int32_t id, uint8_t* to, size_t most, uint32_t* flags,
                           nghttp2_data_source* source, void* user) {
    auto& body = *static_cast<BodyQueue*>(source->ptr);
    const size_t size = body.take(to, most);
    if (size == 0 && !body.complete) {
      body.waits = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    Session& self = of(user);
    self.gate_.sent_data();
    if (body.complete && body.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    self.events_.on_body_taken(id);
    return static_cast<ssize_t>(size);
  }

  static nghttp2_session* make(Side side, Session& session) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_option* options = nullptr;
    nghttp2_session* made = nullptr;
    LW_CHECK(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&options) == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_option_set_no_auto_window_update(options, 1);
    nghttp2_option_set_no_closed_streams(options, 1);
    lift_own_limits(options);
    const auto create = side == Side::server ? nghttp2_session_server_new2 : nghttp2_session_client_new2;
    LW_CHECK(create(&made, callbacks, &session, options) == 0);
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    return made;
  }
};

Session::Session(Side side, SessionEvents& events, size_t head_bytes)
    : events_(events), gate_(head_bytes), preface_left_(side == Side::server ? kPreface.size() : 0) {
  session_ = Library::make(side, *this);
}

Session::~Session() {
  nghttp2_session_del(session_);
}

uint32_t Session::goaway_code(Fault fault) {
  const bool breaks_rules = fault == Fault::push || fault == Fault::protocol;
  return breaks_rules ? NGHTTP2_PROTOCOL_ERROR : NGHTTP2_ENHANCE_YOUR_CALM;
}

std::optional<Session::Fault> Session::feed(std::string_view bytes, std::chrono::milliseconds now) {
  std::string_view frames = bytes;
  const size_t of_preface = std::min(preface_left_, frames.size());
  preface_left_ -= of_preface;
  frames.remove_prefix(of_preface);
  if (const auto fault = gate_.feed(frames, now)) return fault;
  busy_ = true;
  const ssize_t read =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  busy_ = false;
  if (read == NGHTTP2_ERR_CALLBACK_FAILURE) return pushed_ ? Fault::push : Fault::fields;
  // The library's own limit of acknowledgements that wait, which many frames in one read may meet first.
  if (read == NGHTTP2_ERR_FLOODED) return Fault::control_frames;
  if (read >= 0) return std::nullopt;
  protocol_error_ = nghttp2_strerror(static_cast<int>(read));
  return Fault::protocol;
}

std::string_view Session::output() {
  const uint8_t* bytes = nullptr;
  busy_ = true;
  const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
  busy_ = false;
  return size > 0 ? text_of(bytes, static_cast<size_t>(size)) : std::string_view();
}

nghttp2_nv Session::field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(text.data()));
  };
  const bool is_secret = std::find(kSecret.begin(), kSecret.end(), name) != kSecret.end();
  const uint8_t flags = is_secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
  return {bytes(name), bytes(value), name.size(), value.size(), flags};
}

nghttp2_data_provider Session::source(BodyQueue& body) {
  nghttp2_data_provider out{};
  out.source.ptr = &body;
  out.read_callback = Library::read_body;
  return out;
}

void Session::resume(int32_t id, BodyQueue& body) {
  if (!std::exchange(body.waits, false)) return;
  nghttp2_session_resume_data(session_, id);
}

}  // namespace lineward::http2
