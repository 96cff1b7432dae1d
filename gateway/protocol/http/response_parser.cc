#include "protocol/http/response_parser.h"

#include <fmt/format.h>
#include <llhttp.h>

#include <algorithm>
#include <utility>

#include "protocol/http/char_class.h"
#include "protocol/http/chunk_decoder.h"
#include "protocol/http/head_memo.h"
#include "protocol/http/response_gate.h"

namespace lineward::http {

namespace {

constexpr size_t kKeptBytes = 16 * 1024;  // capacity of the input kept for the next response

}  // namespace

struct ResponseParser::State {
  enum class Stage { head, body, complete, failed };

  explicit State(const ResponseLimits& given) : limits(given) {}

  Next fail_with(std::string why) {
    fault = std::move(why);
    stage = Stage::failed;
    in = {};
    std::string().swap(kept);
    std::string().swap(decoded);
    body = {};
    return Next::failed;
  }
  // False for bytes that no response can contain.
  bool takes(std::string_view bytes) {
    if (stage == Stage::complete && !bytes.empty()) extra = true;
    return !bytes.empty() && (stage == Stage::head || stage == Stage::body);
  }
  void keep(std::string_view bytes);
  void settle();
  Next step();
  void reset();
  Next read_head();
  bool parse_head();
  Next read_body();
  bool read_sized();
  Next read_chunked();
  Next too_much();
  bool find_end(size_t& size);

  const ResponseLimits limits;
  Stage stage = Stage::complete;
  std::string_view in;  // bytes that are not parsed yet: part of `kept`, or borrowed
  std::string kept;
  bool is_borrowed = false;
  size_t scanned = 0;  // bytes of a head
  size_t line_start = 0;
  uint32_t interim = 0;
  std::string head_block;  // owns the bytes of `info`
  ResponseInfo info;
  HeadMemo memo;  // of both, if a length frames the body
  llhttp_t parser;
  std::string_view name, value;
  bool headers_done = false;
  bool message_done = false;
  bool sized = false;  // a length frames the body: llhttp does not parse it
  uint64_t left = 0;   // bytes of such a body
  bool has_body_limit = true;
  std::string_view body;  // the part that was not returned yet: of `in`, or `decoded`
  std::string decoded;    // of a body that no length frames
  uint64_t body_bytes = 0;
  bool chunked = false;  // chunked: llhttp does not parse this body either
  ChunkDecoder chunks{ChunkDecoder::kAnyOverhead, ChunkDecoder::Trailers::dropped};
  bool extra = false;  // bytes after the response
  bool ended = false;  // the connection has ended
  std::string fault;
  bool too_long = false;
  bool head_too_long = false;
};

namespace {

template <class State>
const llhttp_settings_t& settings() {
  static const llhttp_settings_t all = [] {
    llhttp_settings_t made;
    llhttp_settings_init(&made);
    made.on_header_field = [](llhttp_t* p, const char* at, size_t size) {
      static_cast<State*>(p->data)->name = {at, size};
      return 0;
    };
    made.on_header_value = [](llhttp_t* p, const char* at, size_t size) {
      static_cast<State*>(p->data)->value = {at, size};
      return 0;
    };
    made.on_header_value_complete = [](llhttp_t* p) {
      auto* s = static_cast<State*>(p->data);
      if (!s->headers_done) s->info.headers.add(s->name, trim_white_space(s->value));
      s->name = s->value = {};
      return 0;
    };
    made.on_headers_complete = [](llhttp_t* p) {
      auto* s = static_cast<State*>(p->data);
      s->headers_done = true;
      p->upgrade = 0;
      int status = p->status_code;
      return status < 200 || status == 204 || status == 304
                 ? 1
                 : 0;  // these have no body, whatever they announce
    };
    made.on_body = [](llhttp_t* p, const char* at, size_t size) {
      auto* s = static_cast<State*>(p->data);
      s->decoded.append(at, size);
      s->body_bytes += size;
      return 0;
    };
    made.on_message_complete = [](llhttp_t* p) {
      static_cast<State*>(p->data)->message_done = true;
      return static_cast<int>(HPE_PAUSED);
    };
    return made;
  }();
  return all;
}

bool keeps_alive(const ResponseInfo& info) {
  bool keep = info.minor_version == 1;
  for (const Header& field : info.headers.all()) {
    if (!equals_ignoring_case(field.name, "Connection")) continue;
    if (list_has_token(field.value, "close")) return false;
    if (list_has_token(field.value, "keep-alive")) keep = true;
  }
  return keep;
}

}  // namespace

void ResponseParser::State::reset() {
  stage = Stage::head;
  scanned = line_start = 0;
  headers_done = message_done = sized = chunked = false;
  body_bytes = 0;
  chunks.reset();
  has_body_limit = true;
}

// Appends to the bytes that are not parsed yet, in memory of its own.
void ResponseParser::State::keep(std::string_view bytes) {
  if (in.empty())
    kept.clear();
  else if (is_borrowed)
    kept.assign(in);
  else
    kept.erase(0, kept.size() - in.size());
  is_borrowed = false;
  kept.append(bytes);
  in = kept;
}

// Lets go of borrowed bytes.
void ResponseParser::State::settle() {
  if (is_borrowed) keep({});
}

// Reads every byte once, and detects non-HTTP in the first line.
bool ResponseParser::State::find_end(size_t& size) {
  while (scanned < in.size()) {
    size_t line_feed = in.find('\n', scanned);
    if (line_feed == std::string_view::npos) {
      scanned = in.size();
      break;
    }
    if (line_feed == 0 || in[line_feed - 1] != '\r') {
      fail_with("it has a line that does not end with CR and LF");
      return false;
    }
    bool empty = line_feed - 1 == line_start;
    scanned = line_start = line_feed + 1;
    if (empty) {
      size = line_feed + 1;
      return true;
    }
  }
  std::string_view begin = in.substr(0, 5);
  if (begin != std::string_view("HTTP/").substr(0, begin.size()))
    fail_with("its first line is no HTTP/1 status line");
  return false;
}

ResponseParser::Next ResponseParser::State::read_head() {
  if (scanned == 0 && memo.repeats(in, head_block)) {
    in.remove_prefix(head_block.size());
    headers_done = sized = true;
    left = memo.length();
    message_done = left == 0;
    stage = Stage::body;
    return Next::head;
  }
  for (;;) {
    size_t size = 0;
    bool found = find_end(size);
    if (stage == Stage::failed) return Next::failed;
    if ((found ? size : in.size()) > limits.head_bytes) {
      head_too_long = true;
      return fail_with(fmt::format("its head has more than {} bytes", limits.head_bytes));
    }
    if (!found) {
      if (ended)
        return fail_with(in.empty() ? "the connection ended before its answer" : "its head was cut off");
      return Next::need_more;
    }
    memo.forget();
    head_block.assign(in.substr(0, size));
    in.remove_prefix(size);
    Status<Error> checked = check_response_head(head_block, limits);
    if (!checked) return fail_with(checked.error().text);
    spaces_for_tabs(head_block);
    if (!parse_head()) return Next::failed;
    if (info.status == 101) return fail_with("it switches to another protocol (101)");
    if (info.status >= 200) break;
    if (++interim > limits.interim) {
      return fail_with(fmt::format("it has more than {} interim responses", limits.interim));
    }
    reset();
  }
  if (sized) memo.learn(head_block, info.headers.get("Content-Length"));
  stage = Stage::body;
  return Next::head;
}

bool ResponseParser::State::parse_head() {
  llhttp_init(&parser, HTTP_RESPONSE, &settings<State>());
  parser.data = this;
  HeaderList headers = std::move(info.headers);
  headers.clear();
  info = ResponseInfo();
  info.headers = std::move(headers);
  llhttp_errno_t error = llhttp_execute(&parser, head_block.data(), head_block.size());
  bool whole = headers_done && (error == HPE_OK || (error == HPE_PAUSED && message_done));
  if (!whole) {
    fail_with("its head is not valid HTTP");
    return false;
  }
  info.status = parser.status_code;
  info.minor_version = parser.http_minor;
  info.keep_alive = keeps_alive(info);
  // llhttp and the gate must agree on the framing.
  chunked = info.headers.find("Transfer-Encoding") != nullptr;
  const bool has_length = info.headers.find("Content-Length") != nullptr;
  bool bodiless = info.status < 200 || info.status == 204 || info.status == 304;
  if (chunked != ((parser.flags & F_CHUNKED) != 0)) {
    fail_with("the end of its body is not clear");
    return false;
  }
  if (!bodiless && !chunked && !has_length) info.keep_alive = false;  // its body ends with the connection
  chunked = chunked && !bodiless;
  sized = !bodiless && has_length;
  left = decimal_value(info.headers.get("Content-Length"));
  if (sized && left == 0) message_done = true;
  return true;
}

// A body framed by a length needs no parser.
bool ResponseParser::State::read_sized() {
  body = in.substr(0, static_cast<size_t>(std::min<uint64_t>(left, in.size())));
  left -= body.size();
  body_bytes += body.size();
  message_done = left == 0;
  in.remove_prefix(body.size());
  return !has_body_limit || body_bytes <= limits.body_bytes;
}

ResponseParser::Next ResponseParser::State::too_much() {
  too_long = true;
  return fail_with(fmt::format("its body has more than {} bytes", limits.body_bytes));
}

// Returns `body` if all bytes so far are valid.
ResponseParser::Next ResponseParser::State::read_chunked() {
  const auto step = chunks.decode(in, decoded, has_body_limit ? limits.body_bytes : UINT64_MAX);
  if (step == ChunkDecoder::Step::fault) {
    if (chunks.fault().code == 413) return too_much();
    return fail_with("its body is not framed as announced: " + chunks.fault().text);
  }
  message_done = step == ChunkDecoder::Step::done;
  body = decoded;
  return Next::body;
}

ResponseParser::Next ResponseParser::State::read_body() {
  body = {};
  decoded.clear();
  if (sized && !message_done && !in.empty()) {
    if (!read_sized()) return too_much();
  } else if (chunked && !message_done && !in.empty()) {
    if (read_chunked() == Next::failed) return Next::failed;
  } else if (!message_done && !in.empty()) {
    if (llhttp_execute(&parser, in.data(), in.size()) != HPE_OK)
      return fail_with("its body is not framed as announced");
    if (has_body_limit && body_bytes > limits.body_bytes) return too_much();
    body = decoded;
    in = {};
  }
  if (!message_done && ended && (sized || chunked)) {
    return body.empty() ? fail_with("its body was cut off") : Next::body;
  }
  if (!message_done && ended) {
    // HPE_OK with the message complete: a body that ends with the connection.
    llhttp_errno_t error = llhttp_finish(&parser);
    bool whole = message_done && (error == HPE_OK || error == HPE_PAUSED);
    if (!whole) return body.empty() ? fail_with("its body was cut off") : Next::body;
  }
  if (!body.empty()) return Next::body;
  if (!message_done) return Next::need_more;
  extra = extra || !in.empty();
  in = {};
  is_borrowed = false;
  if (kept.capacity() > kKeptBytes) std::string().swap(kept);
  if (decoded.capacity() > kKeptBytes) std::string().swap(decoded);
  stage = Stage::complete;
  return Next::complete;
}

ResponseParser::Next ResponseParser::State::step() {
  switch (stage) {
    case Stage::head: return read_head();
    case Stage::body: return read_body();
    case Stage::complete: return Next::complete;
    case Stage::failed: return Next::failed;
  }
  return Next::failed;
}

ResponseParser::ResponseParser(const ResponseLimits& limits) : state_(std::make_unique<State>(limits)) {}
ResponseParser::~ResponseParser() = default;

void ResponseParser::begin() {
  if (state_->stage == State::Stage::failed) return;
  state_->reset();
  state_->interim = 0;
}

void ResponseParser::append(std::string_view bytes) {
  if (state_->takes(bytes)) state_->keep(bytes);
}

void ResponseParser::borrow(std::string_view bytes) {
  if (!state_->takes(bytes)) return;
  if (!state_->in.empty()) return state_->keep(bytes);
  state_->in = bytes;
  state_->is_borrowed = true;
}

void ResponseParser::finish() {
  state_->ended = true;
}

ResponseParser::Next ResponseParser::next() {
  const Next next = state_->step();
  if (next == Next::need_more) state_->settle();
  return next;
}

const ResponseInfo& ResponseParser::info() const {
  return state_->info;
}
std::string_view ResponseParser::body() const {
  return state_->body;
}
void ResponseParser::unlimited_body() {
  state_->has_body_limit = false;
}
bool ResponseParser::head_too_long() const {
  return state_->head_too_long;
}

bool ResponseParser::too_long() const {
  return state_->too_long;
}

const std::string& ResponseParser::fault() const {
  return state_->fault;
}
bool ResponseParser::trailing() const {
  return state_->extra;
}

}  // namespace lineward::http
