// Any bytes, cut anywhere: the parser must not crash, and must see the same requests and the same fault as
// when it gets them in one piece. The first byte chooses limits, the second where the cuts fall.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocol/http/request_parser.h"

using lineward::http::Header;
using lineward::http::RequestLimits;
using lineward::http::RequestParser;

namespace {

// Everything the parser's owner could see, as text that can be compared.
class Observer {
 public:
  explicit Observer(const RequestLimits& limits) : limits_(limits), parser_(limits) {}

  void feed(std::string_view bytes) {
    parser_.append(bytes);
    while (step()) {
    }
  }

  std::string finish() {
    seen_ += "phase ";
    seen_ += std::to_string(static_cast<int>(parser_.phase()));
    seen_ += " waiting ";
    seen_ += std::to_string(parser_.buffered());
    return seen_;
  }

 private:
  bool step() {
    switch (parser_.next()) {
      case RequestParser::Next::head: note_head(); return true;
      case RequestParser::Next::complete: {
        note_head();  // once more: the body must not have moved it
        std::string body = parser_.take_body();
        if (body.size() > limits_.body_bytes) std::abort();
        note("body", body);
        parser_.next_request();
        return parser_.buffered() > 0;
      }
      case RequestParser::Next::failed:
        if (!failed_) note("fault " + std::to_string(parser_.fault().code), parser_.fault().text);
        failed_ = true;
        return false;
      case RequestParser::Next::need_more: return false;
    }
    return false;
  }

  void note_head() {
    const auto& head = parser_.head();
    note("method", head.method);
    note("target", head.target);
    note("path", head.path);
    note("flags", std::to_string(head.minor_version) + (head.keep_alive ? "k" : "-") +
                      (head.expect_continue ? "e" : "-"));
    for (const Header& field : head.headers.all())
      note(std::string(field.name), field.value);
    if (head.target.empty() || head.target.front() != '/' || head.target.size() > limits_.target_bytes)
      std::abort();
    if (head.headers.all().size() > limits_.fields) std::abort();
    if (head.headers.count("Content-Length") + head.headers.count("Transfer-Encoding") > 1) std::abort();
  }

  void note(const std::string& what, std::string_view value) {
    seen_ += what + "=" + std::to_string(value.size()) + ":";
    seen_ += value;
    seen_ += '\n';
  }

  RequestLimits limits_;
  RequestParser parser_;
  std::string seen_;
  bool failed_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  RequestLimits limits;
  if (data[0] & 1) limits.head_bytes = 256;
  if (data[0] & 2) limits.fields = 4;
  if (data[0] & 4) limits.target_bytes = 16;
  if (data[0] & 8) limits.body_bytes = 64;
  unsigned cut = data[1];
  std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);

  Observer whole(limits);
  whole.feed(bytes);

  Observer split(limits);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    size_t take = 1 + cut % 17;
    cut = cut * 31 + static_cast<unsigned char>(rest.front());
    split.feed(rest.substr(0, take));
    rest.remove_prefix(take < rest.size() ? take : rest.size());
  }
  if (whole.finish() != split.finish()) std::abort();
  return 0;
}
