#include "strict_request.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "json_raw.h"

namespace lineward::wire {
namespace {

[[noreturn]] void unclean(const std::string& text) {
  throw UncleanRequest(text);
}

bool is_token(std::string_view text) {
  static constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || marks.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string_view trim(std::string_view text) {
  auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && blank(text.back()))
    text.remove_suffix(1);
  return text;
}

// Every CR is followed by LF and every LF comes after CR.
void check_line_ends(std::string_view head) {
  for (size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\n' && (i == 0 || head[i - 1] != '\r')) unclean("a bare LF in the head");
    if (head[i] == '\r' && i + 1 < head.size() && head[i + 1] != '\n') unclean("a bare CR in the head");
  }
}

void read_request_line(std::string_view line, StrictRequest& request) {
  size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) unclean("not a request line: " + std::string(line));
  request.method = line.substr(0, first);
  request.path = line.substr(first + 1, last - first - 1);
  if (line.substr(last + 1) != "HTTP/1.1") unclean("not HTTP/1.1: " + std::string(line));
  if (!is_token(request.method)) unclean("not a method: " + request.method);
  bool visible = std::all_of(request.path.begin(), request.path.end(),
                             [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '#'; });
  if (request.path.empty() || request.path[0] != '/' || !visible)
    unclean("not a request target: " + request.path);
}

void read_field(std::string_view line, StrictRequest& request) {
  // Headers that a hop must not pass on, or must not repeat (RFC 9110 7.6.1, 5.3).
  static const std::set<std::string> hop = {
      "keep-alive", "proxy-connection",    "te",     "trailer",
      "upgrade",    "proxy-authorization", "expect", "proxy-authentication"};
  static const std::set<std::string> lists = {
      "accept", "accept-encoding", "accept-language", "cache-control", "forwarded", "via", "x-forwarded-for"};
  if (line[0] == ' ' || line[0] == '\t') unclean("a folded header line");
  size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    unclean("not a header: " + std::string(line));
  auto name = lower(line.substr(0, colon));
  auto value = trim(line.substr(colon + 1));
  for (unsigned char c : value) {
    if ((c < 0x20 && c != '\t') || c == 0x7f) unclean("a control character in " + name);
  }
  if (hop.count(name)) unclean("a hop-by-hop header: " + name);
  if (name == "connection" && lower(value) != "close" && lower(value) != "keep-alive")
    unclean("Connection: " + std::string(value));
  auto [slot, added] = request.headers.emplace(name, value);
  if (added) return;
  if (!lists.count(name)) unclean("a repeated header: " + name);
  slot->second += ", " + std::string(value);
}

// No value while the body is incomplete; else `end` is its end.
std::optional<std::string> read_chunks(std::string_view in, size_t& end) {
  std::string body;
  for (;;) {
    auto line_end = in.find("\r\n", end);
    if (line_end == std::string_view::npos) {
      if (in.size() - end > 16) unclean("a chunk size without an end");
      return std::nullopt;
    }
    size_t size = 0;
    auto digits = in.substr(end, line_end - end);
    auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 16);
    if (error != std::errc() || stop != digits.data() + digits.size())
      unclean("not a plain chunk size: " + std::string(digits));
    end = line_end + 2;
    if (in.size() < end + size + 2) return std::nullopt;
    if (in.substr(end + size, 2) != "\r\n")
      unclean(size ? "no line end after a chunk" : "trailers after the last chunk");
    body += in.substr(end, size);
    end += size + 2;
    if (size == 0) return body;
  }
}

// Headers about the body must agree with it.
void check_against_body(const StrictRequest& request) {
  if (request.header("content-type").rfind("application/json", 0) != 0) return;
  if (!is_json(request.body)) unclean("a body that is no JSON");
  auto check = [&](const char* name, const Path& path) {
    auto member = find_raw(request.body, path);
    if (!member || !request.headers.count(name)) return;
    if (json_string(*member).value_or("") != request.header(name))
      unclean(std::string(name) + " is not what the body says");
  };
  check("mcp-method", {"method"});
  check("mcp-protocol-version", {"params", "_meta", "io.modelcontextprotocol/protocolVersion"});
}

}  // namespace

std::string StrictRequest::header(const std::string& name) const {
  auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

std::optional<StrictRequest> take_request(std::string& in) {
  if (in.empty()) return std::nullopt;
  auto head_end = in.find("\r\n\r\n");
  bool whole = head_end != std::string::npos;
  std::string_view head = std::string_view(in).substr(0, whole ? head_end + 2 : in.size());
  check_line_ends(head);
  if (!whole) return std::nullopt;
  StrictRequest request;
  for (size_t at = 0; at < head.size();) {
    size_t end = head.find("\r\n", at);
    auto line = head.substr(at, end - at);
    if (line.empty()) unclean("an empty line before the request");
    at == 0 ? read_request_line(line, request) : read_field(line, request);
    at = end + 2;
  }
  if (!request.headers.count("host")) unclean("no Host");
  bool chunked = request.headers.count("transfer-encoding") > 0;
  bool counted = request.headers.count("content-length") > 0;
  if (chunked && counted) unclean("both Content-Length and Transfer-Encoding");
  if (request.method == "POST" && !chunked && !counted) unclean("a POST without a length");
  size_t end = head_end + 4;
  if (chunked) {
    if (request.header("transfer-encoding") != "chunked")
      unclean("Transfer-Encoding: " + request.header("transfer-encoding"));
    auto body = read_chunks(in, end);
    if (!body) return std::nullopt;
    request.body = std::move(*body);
  } else if (counted) {
    size_t length = 0;
    auto digits = request.header("content-length");
    auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (error != std::errc() || stop != digits.data() + digits.size()) unclean("Content-Length: " + digits);
    if (in.size() < end + length) return std::nullopt;
    request.body = in.substr(end, length);
    end += length;
  }
  check_against_body(request);
  in.erase(0, end);
  return request;
}

}  // namespace lineward::wire
