#include "protocol/http/stream_head.h"

#include <algorithm>
#include <utility>

#include "protocol/http/char_class.h"
#include "protocol/http/stream_fields.h"

namespace lineward::http {
namespace {

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; });
}

}  // namespace

void StreamHead::add(std::string_view name, std::string_view value, size_t most) {
  size_ += name.size() + value.size() + kFieldCost;
  // A head that is cut is longer than it may be, by what is kept of it.
  if (kept_ > most) return;
  const auto set_once = [&](std::string& to, bool& is_set) {
    if (std::exchange(is_set, true)) fault_ = "a pseudo-header field is given twice";
    to = value;
    kept_ += value.size();
  };
  bool method_set = !method_.empty(), path_set = !path_.empty();
  if (!is_one_line(value)) {
    fault_ = "a field value has a line break";
  } else if (name == ":method") {
    set_once(method_, method_set);
  } else if (name == ":path") {
    set_once(path_, path_set);
  } else if (name == ":authority") {
    set_once(authority_, has_authority_);
  } else if (name == ":scheme") {
    has_scheme_ = true;
  } else if (name.empty() || !is_token(name)) {
    fault_ = "a field name is no token";
  } else if (name == "host") {
    set_once(host_, has_host_);
  } else if (name == "cookie") {
    cookie_ += cookie_.empty() ? "" : "; ";  // RFC 9113, 8.2.3
    cookie_ += value;
    kept_ += value.size();
  } else if (name == "te") {
    if (value != "trailers") fault_ = "TE may only be \"trailers\"";
  } else if (is_of_connections(name)) {
    fault_ = "a field of HTTP/1 connections is given";
  } else {
    has_length_ |= name == "content-length";
    fields_.append(name).append(": ").append(value).append("\r\n");
    kept_ += name.size() + value.size();
  }
}

Result<std::string> StreamHead::text(bool has_body) {
  if (!fault_.empty()) return fail(fault_);
  if (!has_scheme_ || path_.empty()) return fail("a pseudo-header field is missing");
  if (!is_token(method_) || !is_visible(path_) || !is_visible(authority_))
    return fail("a pseudo-header field has a byte that it may not have");
  if (has_authority_ && has_host_ && authority_ != host_) return fail("Host and :authority differ");
  std::string out;
  out.reserve(method_.size() + path_.size() + authority_.size() + host_.size() + cookie_.size() +
              fields_.size() + 96);
  out.append(method_).append(" ").append(path_).append(" HTTP/1.1\r\n");
  if (has_authority_ || has_host_)
    out.append("Host: ").append(has_authority_ ? authority_ : host_).append("\r\n");
  out += fields_;
  if (!cookie_.empty()) out.append("cookie: ").append(cookie_).append("\r\n");
  chunked_ = has_body && !has_length_;
  if (chunked_) out += "Transfer-Encoding: chunked\r\n";
  out += "\r\n";
  return out;
}

}  // namespace lineward::http
