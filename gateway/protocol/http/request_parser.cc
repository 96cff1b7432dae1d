#include "protocol/http/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "foundation/base/check.h"
#include "protocol/http/chunk_decoder.h"
#include "protocol/http/head_gate.h"
#include "protocol/http/head_memo.h"
#include "protocol/http/head_reader.h"
#include "protocol/http/head_scan.h"

namespace lineward::http {

namespace {

constexpr int kMaxLeadingEmptyLines = 2;       // RFC 9112 2.2: some clients end a body with a stray CRLF
constexpr size_t kCompactBytes = 64 * 1024;    // consumed bytes before the input is moved to the front
constexpr size_t kFirstBodyBytes = 64 * 1024;  // an announced length alone reserves at most this
constexpr size_t kKeepBytes = 16 * 1024;       // the capacity that an idle connection may keep

const RequestHead kNoHead;

// The buffer is reused for every request, but freed if a request made it large.
void clear_and_trim(std::string& buffer) {
  if (buffer.capacity() > kKeepBytes) {
    std::string().swap(buffer);
  } else {
    buffer.clear();
  }
}

}  // namespace

std::atomic<size_t> RequestParser::states_{0};

struct RequestParser::State {
  enum class Stage { head, body, complete, failed, closed };

  explicit State(const RequestLimits& given) : limits(given), scan(limits) {
    states_.fetch_add(1, std::memory_order_relaxed);
  }
  ~State() { states_.fetch_sub(1, std::memory_order_relaxed); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::string_view waiting() const { return std::string_view(input).substr(consumed); }
  void consume(size_t bytes);
  void append_to_body(std::string_view bytes);
  Next fail(Error why);
  bool skip_leading_empty_lines();
  void forget_head();
  Next next_in_head();
  Next head_read();
  Next next_in_body();
  Next complete();

  const RequestLimits limits;
  Stage stage = Stage::head;
  std::string input;  // bytes from the wire; the first `consumed` are parsed
  size_t consumed = 0;
  int empty_lines = 0;  // skipped before this request
  HeadScan scan;
  std::string head_block;  // owns the bytes of `head`, so that `input` may move under the body
  RequestHead head;
  BodyFraming framing;
  HeadMemo memo;           // of `head_block`, `head` and `framing`
  uint64_t heads = 0;      // heads parsed, without repeated ones
  uint64_t body_left = 0;  // of a body with Content-Length
  ChunkDecoder chunks;
  std::string body;
  Error fault;
};

// Moves the rest to the front only when it is the smaller part, so each byte is moved once on average.
void RequestParser::State::consume(size_t bytes) {
  consumed += bytes;
  if (consumed == input.size()) {
    clear_and_trim(input);
    consumed = 0;
  } else if (consumed >= kCompactBytes && consumed > input.size() / 2) {
    input.erase(0, consumed);
    consumed = 0;
  }
}

void RequestParser::State::append_to_body(std::string_view bytes) {
  body.append(bytes);
  body_left -= bytes.size();
}

RequestParser::Next RequestParser::State::fail(Error why) {
  fault = std::move(why);
  stage = Stage::failed;
  std::string().swap(input);
  std::string().swap(body);
  consumed = 0;
  return Next::failed;
}

// False while the last byte is a CR that may start another empty line.
bool RequestParser::State::skip_leading_empty_lines() {
  while (empty_lines < kMaxLeadingEmptyLines && !waiting().empty() && waiting().front() == '\r') {
    if (waiting().size() == 1) return false;
    if (waiting()[1] != '\n') break;
    consume(2);
    ++empty_lines;
  }
  return true;
}

void RequestParser::State::forget_head() {
  memo.forget();
  HeaderList headers = std::move(head.headers);  // keeps its memory for the next request
  headers.clear();
  head = RequestHead();
  head.headers = std::move(headers);
  clear_and_trim(head_block);
}

RequestParser::Next RequestParser::State::next_in_head() {
  if (!scan.started() && memo.repeats(waiting(), head_block)) {
    consume(head_block.size());
    framing.length = memo.length();
    return head_read();
  }
  if (!scan.started() && !skip_leading_empty_lines()) return Next::need_more;
  HeadScan::Found found = scan.scan(waiting());
  if (found == HeadScan::Found::more) return Next::need_more;
  if (found == HeadScan::Found::fault) return fail(scan.fault());

  forget_head();
  head_block.assign(waiting().substr(0, scan.head_size()));
  consume(scan.head_size());
  Status<> gate = check_request_head(head_block, limits);
  if (!gate) return fail(std::move(gate.error()));
  spaces_for_tabs(head_block);
  Result<BodyFraming> read = read_head(head_block, head);
  if (!read) return fail(std::move(read.error()));
  framing = *read;
  head.number = ++heads;
  memo.learn(head_block, framing.chunked ? std::string_view() : head.headers.get("Content-Length"));
  return head_read();
}

RequestParser::Next RequestParser::State::head_read() {
  if (framing.length > limits.body_bytes) {
    return fail({.text = fmt::format("The request body must not have more than {} bytes.", limits.body_bytes),
                 .code = 413});
  }
  head.body_bytes = framing.chunked ? UINT64_MAX : framing.length;
  body_left = framing.length;
  body.reserve(static_cast<size_t>(std::min<uint64_t>(framing.length, kFirstBodyBytes)));
  stage = Stage::body;
  return Next::head;
}

RequestParser::Next RequestParser::State::next_in_body() {
  std::string_view bytes = waiting();
  if (!framing.chunked) {
    bytes = bytes.substr(0, static_cast<size_t>(std::min<uint64_t>(body_left, bytes.size())));
    append_to_body(bytes);
    consume(bytes.size());
    return body_left == 0 ? complete() : Next::need_more;
  }
  size_t before = bytes.size();
  ChunkDecoder::Step step = chunks.decode(bytes, body, limits.body_bytes);
  consume(before - bytes.size());
  if (step == ChunkDecoder::Step::fault) return fail(chunks.fault());
  return step == ChunkDecoder::Step::done ? complete() : Next::need_more;
}

RequestParser::Next RequestParser::State::complete() {
  stage = Stage::complete;
  // Bytes after a request that closes the connection are dropped rather than refused: the answer must still
  // be sent.
  if (!head.keep_alive) consume(waiting().size());
  return Next::complete;
}

RequestParser::RequestParser(const RequestLimits& limits) : limits_(limits) {}
RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&& other) noexcept = default;

void RequestParser::append(std::string_view bytes) {
  if (!state_) {
    state_ = std::make_unique<State>(limits_);
    state_->heads = heads_;
  }
  State& s = *state_;
  if (s.stage == State::Stage::failed || s.stage == State::Stage::closed) return;
  if (s.stage == State::Stage::complete && !s.head.keep_alive) return;
  // A long body is copied to its place directly, bypassing the input.
  if (s.stage == State::Stage::body && !s.framing.chunked && s.waiting().empty()) {
    std::string_view part =
        bytes.substr(0, static_cast<size_t>(std::min<uint64_t>(s.body_left, bytes.size())));
    s.append_to_body(part);
    bytes.remove_prefix(part.size());
  }
  s.input.append(bytes);
}

size_t RequestParser::buffered() const {
  return state_ ? state_->waiting().size() : 0;
}

size_t RequestParser::held() const {
  return state_ ? state_->waiting().size() + state_->body.size() : 0;
}

RequestParser::Next RequestParser::next() {
  if (!state_) return Next::need_more;
  switch (state_->stage) {
    case State::Stage::head: return state_->next_in_head();
    case State::Stage::body: return state_->next_in_body();
    case State::Stage::complete: return Next::complete;
    case State::Stage::failed: return Next::failed;
    case State::Stage::closed: return Next::need_more;
  }
  return Next::failed;
}

RequestParser::Phase RequestParser::phase() const {
  if (!state_) return Phase::idle;
  switch (state_->stage) {
    case State::Stage::head: return state_->scan.started() ? Phase::in_head : Phase::idle;
    case State::Stage::body: return Phase::in_body;
    case State::Stage::complete: return Phase::complete;
    case State::Stage::failed: return Phase::failed;
    case State::Stage::closed: return Phase::idle;
  }
  return Phase::failed;
}

const RequestHead& RequestParser::head() const {
  return state_ ? state_->head : kNoHead;
}

std::string RequestParser::take_body() {
  LW_CHECK(state_ && state_->stage == State::Stage::complete);
  return std::exchange(state_->body, {});
}

const Error& RequestParser::fault() const {
  LW_CHECK(state_);
  return state_->fault;
}

void RequestParser::next_request() {
  LW_CHECK(state_);
  State& s = *state_;
  if (s.stage == State::Stage::failed || s.stage == State::Stage::closed) return;
  LW_CHECK(s.stage == State::Stage::complete);
  s.stage = s.head.keep_alive ? State::Stage::head : State::Stage::closed;
  s.empty_lines = 0;
  s.scan.reset();
  s.chunks.reset();
  if (s.head_block.capacity() > kKeepBytes) s.forget_head();
  clear_and_trim(s.body);
}

void RequestParser::rest() {
  const bool idle = state_ && state_->stage == State::Stage::head && !state_->scan.started();
  if (!idle || !state_->waiting().empty()) return;
  heads_ = state_->heads;
  state_.reset();
}

}  // namespace lineward::http
