#include "http/response_parser.h"

#include <fmt/format.h>
#include <llhttp.h>

#include <algorithm>
#include <utility>

#include "http/char_class.h"

namespace lineward::http {

namespace {

constexpr size_t kMaxLengthDigits = 15;
// What framing may cost: so much for each chunk, and so much once. Extensions, zeros before a size and
// trailers cannot grow beyond it.
constexpr uint64_t kChunkOverhead = 512;
constexpr uint64_t kFreeOverhead = 8 * 1024;
constexpr size_t kKeptBytes = 16 * 1024;  // of the input, for the next response

bool is_token(std::string_view text) {
  return !text.empty() && all_tchars(text);
}

Status<Error> check_status_line(std::string_view line) {
  bool version = line.substr(0, 9) == "HTTP/1.1 " || line.substr(0, 9) == "HTTP/1.0 ";
  if (!version) return fail("its first line is no HTTP/1 status line");
  std::string_view status = line.substr(9, 3);
  bool number = status.size() == 3 && std::all_of(status.begin(), status.end(), is_digit) &&
                status[0] >= '1' && status[0] <= '5';
  if (!number || (line.size() > 12 && line[12] != ' '))
    return fail("its status is no number of three digits");
  for (char c : line.substr(12)) {
    if (is_control(c) && c != '\t') return fail("its status line holds control characters");
  }
  return Done{};
}

struct Seen {
  size_t fields = 0;
  size_t lengths = 0;
  std::string_view coding;
  bool coded = false;
};

Status<Error> check_field(std::string_view line, Seen& seen) {
  if (line.front() == ' ' || line.front() == '\t') return fail("it has a folded header field");
  size_t colon = line.find(':');
  if (colon == std::string_view::npos) return fail("it has a header line without a colon");
  std::string_view name = line.substr(0, colon);
  if (!is_token(name)) return fail("it has a header name that is no token");
  std::string_view value = trim_white_space(line.substr(colon + 1));
  for (char c : value) {
    if (is_control(c) && c != '\t') return fail("it has control characters in a header value");
  }
  if (equals_ignoring_case(name, "Content-Length")) {
    if (++seen.lengths > 1) return fail("it has two lengths");
    bool number = !value.empty() && value.size() <= kMaxLengthDigits &&
                  std::all_of(value.begin(), value.end(), is_digit);
    if (!number) return fail("its Content-Length is no plain number");
  } else if (equals_ignoring_case(name, "Transfer-Encoding")) {
    if (seen.coded) return fail("it has two transfer codings");
    seen.coded = true;
    seen.coding = value;
  }
  return Done{};
}

}  // namespace

Status<Error> check_response_head(std::string_view block, const ResponseLimits& limits) {
  Seen seen;
  bool is_http_1_0 = false;
  std::string_view rest = block;
  for (bool first = true;; first = false) {
    size_t line_feed = rest.find('\n');
    if (line_feed == std::string_view::npos) return fail("its head does not end");
    if (line_feed == 0 || rest[line_feed - 1] != '\r')
      return fail("it has a line that does not end with CR and LF");
    std::string_view line = rest.substr(0, line_feed - 1);
    rest.remove_prefix(line_feed + 1);
    if (first) {
      Status<Error> checked = check_status_line(line);
      if (!checked) return checked;
      is_http_1_0 = line[7] == '0';
      continue;
    }
    if (line.empty()) break;
    if (++seen.fields > limits.fields)
      return fail(fmt::format("it has more than {} header fields", limits.fields));
    Status<Error> checked = check_field(line, seen);
    if (!checked) return checked;
  }
  if (!rest.empty()) return fail("something follows its head");
  if (!seen.coded) return Done{};
  if (seen.lengths > 0) return fail("it has a length and a transfer coding");
  if (is_http_1_0) return fail("it has a transfer coding in HTTP/1.0");
  if (!equals_ignoring_case(seen.coding, "chunked")) return fail("its transfer coding is not chunked");
  return Done{};
}

struct ResponseParser::State {
  enum class Stage { head, body, complete, failed };

  explicit State(const ResponseLimits& given) : limits(given) {}

  Next fail_with(std::string why) {
    fault = std::move(why);
    stage = Stage::failed;
    std::string().swap(input);
    std::string().swap(body);
    return Next::failed;
  }
  void reset();
  Next read_head();
  bool parse_head();
  Next read_body();
  bool find_end(size_t& size);

  const ResponseLimits limits;
  Stage stage = Stage::complete;
  std::string input;
  size_t scanned = 0;  // of a head
  size_t line_start = 0;
  uint32_t interim = 0;
  std::string head_block;  // what `info` looks into
  ResponseInfo info;
  llhttp_t parser;
  std::string_view name, value;
  bool headers_done = false;
  bool message_done = false;
  bool has_body_limit = true;
  std::string body;
  uint64_t body_bytes = 0;
  uint64_t overhead = 0;
  uint64_t chunks = 0;
  bool last_chunk = false;
  bool trailers = false;
  bool extra = false;  // bytes behind the response
  bool ended = false;  // the connection
  std::string fault;
  bool too_long = false;
};

namespace {

template <class State>
const llhttp_settings_t& settings() {
  static const llhttp_settings_t all = [] {
    llhttp_settings_t made;
    llhttp_settings_init(&made);
    made.on_header_field = [](llhttp_t* p, const char* at, size_t size) {
      auto* s = static_cast<State*>(p->data);
      if (s->headers_done) s->trailers = true;
      s->name = {at, size};
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
      s->body.append(at, size);
      s->body_bytes += size;
      return 0;
    };
    made.on_chunk_header = [](llhttp_t* p) {
      auto* s = static_cast<State*>(p->data);
      ++s->chunks;
      s->last_chunk = p->content_length == 0;
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

uint64_t number_of(std::string_view digits) {
  uint64_t number = 0;
  for (char c : digits)
    number = number * 10 + static_cast<uint64_t>(c - '0');
  return number;
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
  HeaderList headers = std::move(info.headers);
  headers.clear();
  info = ResponseInfo();
  info.headers = std::move(headers);
  stage = Stage::head;
  scanned = line_start = 0;
  headers_done = message_done = false;
  body_bytes = overhead = chunks = 0;
  last_chunk = trailers = false;
  has_body_limit = true;
}

// Looks at every byte once, and sees at its first line what is no HTTP.
bool ResponseParser::State::find_end(size_t& size) {
  while (scanned < input.size()) {
    size_t line_feed = input.find('\n', scanned);
    if (line_feed == std::string::npos) {
      scanned = input.size();
      break;
    }
    if (line_feed == 0 || input[line_feed - 1] != '\r') {
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
  std::string_view begin = std::string_view(input).substr(0, 5);
  if (begin != std::string_view("HTTP/").substr(0, begin.size()))
    fail_with("its first line is no HTTP/1 status line");
  return false;
}

ResponseParser::Next ResponseParser::State::read_head() {
  for (;;) {
    size_t size = 0;
    bool found = find_end(size);
    if (stage == Stage::failed) return Next::failed;
    if ((found ? size : input.size()) > limits.head_bytes) {
      return fail_with(fmt::format("its head has more than {} bytes", limits.head_bytes));
    }
    if (!found) {
      if (ended)
        return fail_with(input.empty() ? "the connection ended before its answer" : "its head was cut off");
      return Next::need_more;
    }
    head_block.assign(input, 0, size);
    input.erase(0, size);
    Status<Error> checked = check_response_head(head_block, limits);
    if (!checked) return fail_with(checked.error().text);
    if (!parse_head()) return Next::failed;
    if (info.status == 101) return fail_with("it switches to another protocol (101)");
    if (info.status >= 200) break;
    if (++interim > limits.interim) {
      return fail_with(fmt::format("it has more than {} interim responses", limits.interim));
    }
    reset();
  }
  stage = Stage::body;
  return Next::head;
}

bool ResponseParser::State::parse_head() {
  llhttp_init(&parser, HTTP_RESPONSE, &settings<State>());
  parser.data = this;
  info.headers.clear();
  llhttp_errno_t error = llhttp_execute(&parser, head_block.data(), head_block.size());
  bool whole = headers_done && (error == HPE_OK || (error == HPE_PAUSED && message_done));
  if (!whole) {
    fail_with("its head is not valid HTTP");
    return false;
  }
  info.status = parser.status_code;
  info.minor_version = parser.http_minor;
  info.keep_alive = keeps_alive(info);
  // llhttp and the gate must see the same framing.
  bool chunked = info.headers.find("Transfer-Encoding") != nullptr;
  bool sized = info.headers.find("Content-Length") != nullptr;
  uint64_t length = number_of(info.headers.get("Content-Length"));
  bool bodiless = info.status < 200 || info.status == 204 || info.status == 304;
  if (chunked != ((parser.flags & F_CHUNKED) != 0)) {
    fail_with("the end of its body is not clear");
    return false;
  }
  if (!bodiless && !chunked && !sized) info.keep_alive = false;  // its body ends with the connection
  if (!bodiless && sized && length == 0) message_done = true;
  return true;
}

ResponseParser::Next ResponseParser::State::read_body() {
  if (!message_done && !input.empty()) {
    uint64_t before = body_bytes;
    llhttp_errno_t error = llhttp_execute(&parser, input.data(), input.size());
    size_t used = input.size();
    if (error == HPE_PAUSED && message_done) {
      used = static_cast<size_t>(llhttp_get_error_pos(&parser) - input.data());
      bool in_order = !last_chunk || used < 2 || (input[used - 2] == '\r' && input[used - 1] == '\n');
      if (!in_order) return fail_with("its chunked body does not end with CR and LF");
    } else if (error != HPE_OK) {
      return fail_with("its body is not framed as announced");
    }
    overhead += used - (body_bytes - before);
    if (trailers) return fail_with("it has trailer fields");
    if (overhead > kFreeOverhead + chunks * kChunkOverhead)
      return fail_with("its framing is larger than its content");
    if (has_body_limit && body_bytes > limits.body_bytes) {
      too_long = true;
      return fail_with(fmt::format("its body has more than {} bytes", limits.body_bytes));
    }
    input.erase(0, used);
  }
  if (!message_done && ended) {
    // HPE_OK with the message complete: a body that ends with the connection.
    llhttp_errno_t error = llhttp_finish(&parser);
    bool whole = message_done && (error == HPE_OK || error == HPE_PAUSED);
    if (!whole) return body.empty() ? fail_with("its body was cut off") : Next::body;
  }
  if (!body.empty()) return Next::body;
  if (!message_done) return Next::need_more;
  extra = extra || !input.empty();
  input.capacity() > kKeptBytes ? std::string().swap(input) : input.clear();
  stage = Stage::complete;
  return Next::complete;
}

ResponseParser::ResponseParser(const ResponseLimits& limits) : state_(std::make_unique<State>(limits)) {}
ResponseParser::~ResponseParser() = default;

void ResponseParser::begin() {
  if (state_->stage == State::Stage::failed) return;
  state_->reset();
  state_->interim = 0;
}

void ResponseParser::append(std::string_view bytes) {
  if (state_->stage == State::Stage::failed || bytes.empty()) return;
  if (state_->stage == State::Stage::complete) {
    state_->extra = true;
    return;
  }
  state_->input.append(bytes);
}

void ResponseParser::finish() {
  state_->ended = true;
}

ResponseParser::Next ResponseParser::next() {
  switch (state_->stage) {
    case State::Stage::head: return state_->read_head();
    case State::Stage::body: return state_->read_body();
    case State::Stage::complete: return Next::complete;
    case State::Stage::failed: return Next::failed;
  }
  return Next::failed;
}

const ResponseInfo& ResponseParser::info() const {
  return state_->info;
}
std::string ResponseParser::take_body() {
  return std::exchange(state_->body, {});
}
void ResponseParser::unlimited_body() {
  state_->has_body_limit = false;
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
