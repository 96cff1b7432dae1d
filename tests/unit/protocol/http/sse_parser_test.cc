#include "protocol/http/sse_parser.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/json/json_scan.h"
#include "protocol/http/writer.h"
#include "unit/protocol/http/event_text.h"
#include "unit/protocol/http/in_parts.h"

using namespace lineward;
using http::SseEvent;
using http::SseLimits;
using http::SseParser;
using std::chrono::milliseconds;

namespace {

using Events = std::vector<std::vector<std::string>>;  // type, data, id

const std::string kSet = LINEWARD_SOURCE_DIR "/tests/data/sse-streams/";

struct Seen {
  Events events;
  std::string fault;
  std::string last_id;
  std::optional<milliseconds> retry;
  bool operator==(const Seen&) const = default;
};

// A decoder's view of the data: ill-formed UTF-8 replaced.
std::string decoded(std::string_view text) {
  std::string quoted = json::quote(text);
  return json::unescape(std::string_view(quoted).substr(1, quoted.size() - 2));
}

void read_on(SseParser& parser, Seen& seen) {
  while (true) {
    switch (parser.next()) {
      case SseParser::Next::event: {
        SseEvent event = parser.take_event();
        seen.events.push_back({event.event, decoded(event.data), event.id});
        break;
      }
      case SseParser::Next::failed: seen.fault = parser.fault(); return;
      case SseParser::Next::need_more: return;
    }
  }
}

void pump(SseParser& parser, Seen& seen) {
  read_on(parser, seen);
  seen.last_id = parser.last_event_id();
  seen.retry = parser.retry();
}

// Long texts are cut near their ends and at some places between.
Seen feed(std::string_view bytes, const SseLimits& limits = {}) {
  std::vector<size_t> cuts;
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    cuts.push_back(cut);
    if (bytes.size() > 2000 && cut > 100 && cut + 100 < bytes.size()) cut += bytes.size() / 61;
  }
  return http::in_any_parts<SseParser, Seen>(bytes, limits, cuts);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// [["message","data","id"],…]
Events read_events(const std::string& text) {
  Events events;
  json::Cursor cursor(text);
  REQUIRE(cursor.enter_array());
  while (cursor.next_element()) {
    REQUIRE(cursor.enter_array());
    std::vector<std::string> row;
    json::Span value;
    while (cursor.next_element()) {
      REQUIRE(cursor.skip(value));
      row.push_back(json::unescape(value.in(text).substr(1, value.size() - 2)));
    }
    events.push_back(row);
  }
  REQUIRE(cursor.finish());
  return events;
}

std::vector<std::string> message(std::string data, std::string id = {}) {
  return {"message", std::move(data), std::move(id)};
}

}  // namespace

TEST_CASE("sse: the set of streams, cut everywhere") {
  std::istringstream index(read_file(kSet + "index.tsv"));
  std::string line;
  std::getline(index, line);
  size_t rows = 0;
  while (std::getline(index, line)) {
    std::istringstream row(line);
    std::string file, expected, events_file;
    std::getline(row, file, '\t');
    std::getline(row, expected, '\t');
    std::getline(row, events_file, '\t');
    INFO(file);
    ++rows;
    CHECK(expected == "accept");
    Seen seen = feed(read_file(kSet + file));
    CHECK(seen.fault.empty());
    CHECK((seen.events == read_events(read_file(kSet + events_file))));
  }
  CHECK(rows == 25);
}

TEST_CASE("sse: what the writer writes comes back") {
  std::string message_text = R"({"jsonrpc":"2.0","id":1,"result":{"text":"ä\u0000"}})";
  Seen seen = feed(http::sse_prime("1-0", 500) + http::sse_comment() + event_text(message_text, "1-1") +
                   event_text("{}"));
  Events expected{message("", "1-0"), message(message_text, "1-1"), message("{}", "1-1")};
  CHECK((seen.events == expected));
  CHECK(seen.last_id == "1-1");
  CHECK(seen.retry == milliseconds(500));
}

TEST_CASE("sse: line ends") {
  CHECK((feed("data: a\r\rdata: b\r\r").events == Events{message("a"), message("b")}));
  CHECK((feed("data: a\r\n\r\ndata: b\n\n").events == Events{message("a"), message("b")}));
  CHECK((feed("data: a\r\n\rdata: b\n\r").events == Events{message("a"), message("b")}));
  CHECK((feed("\r\n\r\ndata: a\n\n").events == Events{message("a")}));
  CHECK((feed(std::string_view("data: a\vb\fc\0d\n\n", 16)).events ==
         Events{message(std::string("a\vb\fc\0d", 7))}));

  // An event with CR at the end of its last line is there at once, not with the byte behind it.
  SseParser parser;
  parser.append("data: a\r\r");
  CHECK(parser.next() == SseParser::Next::event);
  CHECK(parser.take_event().data == "a");
  parser.append("\n");
  CHECK(parser.next() == SseParser::Next::need_more);
  CHECK(parser.buffered() == 0);
}

TEST_CASE("sse: byte order mark") {
  CHECK((feed("\xEF\xBB\xBF"
              "data: a\n\n")
             .events == Events{message("a")}));
  CHECK(feed("\xEF\xBB\xBF\xEF\xBB\xBF"
             "data: a\n\n")
            .events.empty());  // the second belongs to the name
  CHECK(feed("\xEF\xBB"
             "data: a\n\n")
            .events.empty());
  CHECK(feed("\n\xEF\xBB\xBF"
             "data: a\n\n")
            .events.empty());
}

TEST_CASE("sse: ids and retry count without data, and stay") {
  Seen seen = feed("id: 7\nretry: 1500\n\n");
  CHECK(seen.events.empty());
  CHECK(seen.last_id == "7");
  CHECK(seen.retry == milliseconds(1500));
  CHECK(feed("id: 7\n").last_id.empty());  // the event has not ended
  CHECK(feed("id: 7\n\nid: 8\ndata: cu").last_id == "7");
  CHECK(feed(std::string_view("id: a\nid: b\0c\n\n", 15)).last_id == "a");
  CHECK(feed("id: a\n\nid\n\n").last_id.empty());
  const std::string longest(SseParser::kMaxEventId, 'x');
  CHECK(feed("id: " + longest + "\n\n").last_id == longest);
  CHECK(feed("id: a\n\nid: " + longest + "x\ndata: 1\n\n").last_id == "a");
  CHECK_FALSE(feed("retry: 15x\nretry:\nretry: -1\nretry:  5\nretry: +5\nretry: 1.5\n").retry);
  CHECK(feed("retry:99999999999999999999999999\n").retry == std::chrono::hours(24));
  CHECK(feed("retry: 007\n").retry == milliseconds(7));

  SseParser parser;
  parser.append("retry: 20\ndata: a\n\ndata: b\n\n");
  REQUIRE(parser.next() == SseParser::Next::event);
  CHECK(parser.take_event().retry == milliseconds(20));
  REQUIRE(parser.next() == SseParser::Next::event);
  CHECK_FALSE(parser.take_event().retry);
}

TEST_CASE("sse: the end of a stream drops what is unfinished") {
  SseParser parser;
  parser.append("id: 1\nretry: 9\ndata: a\n\nevent: x\nid: 2\ndata: lost\nda");
  CHECK(parser.next() == SseParser::Next::event);
  CHECK(parser.next() == SseParser::Next::need_more);
  parser.restart();
  CHECK(parser.buffered() == 0);
  parser.append(
      "\xEF\xBB\xBF"
      "data: b\n\n");
  REQUIRE(parser.next() == SseParser::Next::event);
  SseEvent event = parser.take_event();
  CHECK(event.data == "b");
  CHECK(event.event == "message");
  CHECK(event.id == "1");
  CHECK(parser.retry() == milliseconds(9));
}

TEST_CASE("sse: limits") {
  SseLimits limits{10, 6};
  CHECK((feed("data: abcd\n\n", limits).events == Events{message("abcd")}));
  Seen long_line = feed("data: a\n\ndata: abcde\n\n", limits);
  CHECK((long_line.events == Events{message("a")}));
  CHECK(long_line.fault == "A line of an event must not have more than 10 bytes.");
  CHECK_FALSE(feed(":0123456789", limits).fault.empty());  // comments too
  CHECK((feed("data:abc\ndata:de\n\n", limits).events == Events{message("abc\nde")}));
  CHECK(feed("data:abc\ndata:def\n\n", limits).fault == "An event must not have more than 6 bytes of data.");
  CHECK_FALSE(feed("data\ndata\ndata\ndata\ndata\ndata\ndata\ndata\n", limits).fault.empty());
  CHECK((feed("data:abc\n\ndata:def\n\n", limits).events.size() == 2));

  SseParser parser(limits);
  parser.append("data: too long a line");
  CHECK(parser.next() == SseParser::Next::failed);
  parser.append("\n\ndata: a\n\n");
  CHECK(parser.next() == SseParser::Next::failed);
  CHECK(parser.buffered() == 0);
}

TEST_CASE("sse: a long line in many pieces takes linear time") {
  SseParser parser;
  parser.append("data: ");
  std::string piece(64, 'x');
  int early = 0;
  for (int i = 0; i < 100000; ++i) {
    parser.append(piece);
    if (parser.next() != SseParser::Next::need_more) ++early;
  }
  CHECK(early == 0);
  parser.append("\n\n");
  REQUIRE(parser.next() == SseParser::Next::event);
  CHECK(parser.take_event().data.size() == 64 * 100000);
}

TEST_CASE("sse: long data on one line comes with its outline, other data without") {
  const std::string large = "\"" + std::string(300000, 'x') + "\"";
  http::SseParser parser;
  const auto feed_by = [&parser](const std::string& text, size_t chunk) {
    std::vector<http::SseEvent> events;
    for (size_t at = 0; at < text.size(); at += chunk) {
      parser.append(text.substr(at, chunk));
      while (parser.next() == http::SseParser::Next::event)
        events.push_back(parser.take_event());
    }
    return events;
  };
  for (size_t chunk : {1000u, 65536u, 1000000u}) {
    const auto events = feed_by("data: [" + large + "]\n\ndata:[" + large + "]\r\n\r\ndata: 1\n\ndata: [" +
                                    large + ",\ndata: 2]\n\n: " + large + "\n\ndata: " + large + "\n\n",
                                chunk);
    INFO(chunk);
    REQUIRE(events.size() == 5);
    for (const http::SseEvent& event : events) {
      const bool one_line = event.data.find('\n') == std::string::npos && event.data.size() > 10;
      REQUIRE((event.outline != nullptr) == one_line);
      if (one_line && event.data.front() == '[') CHECK(event.outline->end_of(1) == event.data.size() - 1);
    }
  }
}
