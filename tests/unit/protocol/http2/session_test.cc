#include "protocol/http2/session.h"

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

namespace lineward::http2 {
namespace {

using std::chrono::milliseconds;

// Notes the events of its session.
struct Side final : SessionEvents {
  explicit Side(Session::Side which, size_t head_bytes = 8192) : session(which, *this, head_bytes) {
    nghttp2_submit_settings(session.raw(), NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  void on_head_begins(int32_t, bool) override {}
  bool on_field(int32_t, bool, std::string_view name, std::string_view value) override {
    heard.append(name).append("=").append(value).append(" ");
    return heard.size() < 20000;
  }
  void on_head(int32_t, bool first, bool ends) override {
    heard += first ? (ends ? "head! " : "head ") : "more ";
  }
  void on_body(int32_t id, std::string_view bytes) override {
    body[id] += bytes;
    nghttp2_session_consume(session.raw(), id, bytes.size());
  }
  void on_body_end(int32_t) override { heard += "end "; }
  void on_body_taken(int32_t) override {}
  void on_end_sent(int32_t) override { heard += "sent "; }
  void on_stream_closed(int32_t, uint32_t code) override { heard += "closed:" + std::to_string(code) + " "; }
  void on_reset(int32_t, uint32_t code) override { heard += "reset:" + std::to_string(code) + " "; }
  void on_settings() override { ++settings; }
  void on_goaway(uint32_t) override { ++goaways; }

  std::string output() {
    std::string out;
    for (std::string_view part = session.output(); !part.empty(); part = session.output())
      out += part;
    return out;
  }

  std::string heard;
  std::map<int32_t, std::string> body;
  int settings = 0, goaways = 0;
  Session session;
};

void talk(Side& client, Side& server) {
  for (int i = 0; i < 100; ++i) {
    const std::string there = client.output(), back = server.output();
    if (there.empty() && back.empty()) return;
    CHECK_FALSE(server.session.feed(there, milliseconds(0)));
    CHECK_FALSE(client.session.feed(back, milliseconds(0)));
  }
}

int32_t ask(Side& client, BodyQueue* body) {
  const std::array<nghttp2_nv, 4> fields{Session::field(":method", "POST"), Session::field(":scheme", "http"),
                                         Session::field(":path", "/"), Session::field(":authority", "a")};
  nghttp2_data_provider source{};
  if (body != nullptr) source = Session::source(*body);
  return nghttp2_submit_request(client.session.raw(), nullptr, fields.data(), fields.size(),
                                body != nullptr ? &source : nullptr, nullptr);
}

void answer(Side& server, int32_t id, BodyQueue& body) {
  const std::array<nghttp2_nv, 1> fields{Session::field(":status", "200")};
  const nghttp2_data_provider source = Session::source(body);
  nghttp2_submit_response(server.session.raw(), id, fields.data(), fields.size(), &source);
}

TEST_CASE("session: a request and its answer, in pieces") {
  Side client(Session::Side::client), server(Session::Side::server);
  CHECK(server.session.awaits_preface());
  BodyQueue request, response;
  request.push(std::string(100000, 'r'));
  request.push("end");
  request.complete = true;
  CHECK(request.size() == 100003);
  const int32_t id = ask(client, &request);
  talk(client, server);
  CHECK_FALSE(server.session.awaits_preface());
  CHECK(request.empty());
  CHECK(server.body[id].size() == 100003);
  CHECK(server.heard == ":method=POST :scheme=http :path=/ :authority=a head end ");
  CHECK(client.settings == 1);

  response.push("one");
  answer(server, id, response);
  talk(client, server);
  CHECK(client.body[id] == "one");
  CHECK(response.waits);
  response.push("two");
  response.complete = true;
  server.session.resume(id, response);
  talk(client, server);
  CHECK(client.body[id] == "onetwo");
  CHECK(client.heard == "sent :status=200 head end closed:0 ");
}

TEST_CASE("session: secrets stay out of the table") {
  CHECK(Session::field("authorization", "x").flags == NGHTTP2_NV_FLAG_NO_INDEX);
  CHECK(Session::field("mcp-session-id", "x").flags == NGHTTP2_NV_FLAG_NO_INDEX);
  CHECK(Session::field("accept", "x").flags == NGHTTP2_NV_FLAG_NONE);
}

TEST_CASE("session: a server that pushes") {
  Side client(Session::Side::client), server(Session::Side::server);
  const int32_t id = ask(client, nullptr);
  talk(client, server);
  const std::array<nghttp2_nv, 4> fields{Session::field(":method", "GET"), Session::field(":scheme", "http"),
                                         Session::field(":path", "/"), Session::field(":authority", "a")};
  nghttp2_submit_push_promise(server.session.raw(), NGHTTP2_FLAG_NONE, id, fields.data(), fields.size(),
                              nullptr);
  const auto fault = client.session.feed(server.output(), milliseconds(0));
  REQUIRE(fault);
  CHECK(*fault == Session::Fault::push);
  CHECK(Session::goaway_code(*fault) == NGHTTP2_PROTOCOL_ERROR);
}

TEST_CASE("session: faults of the gate come before the library's") {
  Side client(Session::Side::client);
  std::string flood;
  for (int i = 0; i < 3000; ++i)
    flood += std::string("\0\0\x08\x06\0\0\0\0\0", 9) + std::string(8, 'x');
  const auto fault = client.session.feed(flood, milliseconds(0));
  REQUIRE(fault);
  CHECK(*fault == Session::Fault::control_frames);
  CHECK(Session::goaway_code(*fault) == NGHTTP2_ENHANCE_YOUR_CALM);
}

TEST_CASE("session: the other side resets a stream") {
  Side client(Session::Side::client), server(Session::Side::server);
  const int32_t id = ask(client, nullptr);
  talk(client, server);
  nghttp2_submit_rst_stream(server.session.raw(), NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
  talk(client, server);
  CHECK(client.heard == "sent reset:7 closed:7 ");
}

TEST_CASE("session: resets that the gate permits end no connection") {
  Side client(Session::Side::client), server(Session::Side::server);
  talk(client, server);
  for (int i = 0; i < 3000; ++i) {
    const int32_t id = ask(client, nullptr);
    std::string there = client.output();
    nghttp2_submit_rst_stream(client.session.raw(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    there += client.output();
    server.heard.clear();
    REQUIRE_FALSE(server.session.feed(there, milliseconds(10 * i)));
    const std::string back = server.output();
    REQUIRE(server.heard == ":method=POST :scheme=http :path=/ :authority=a head! reset:8 closed:8 ");
    REQUIRE_FALSE(client.session.feed(back, milliseconds(10 * i)));
  }
  CHECK(client.goaways == 0);
}

TEST_CASE("session: a head has as many frames as the gate permits") {
  Side client(Session::Side::client), server(Session::Side::server);
  std::string out(client.output());
  REQUIRE_FALSE(server.session.feed(out, milliseconds(0)));
  ask(client, nullptr);
  // With one field more, a byte of it in each frame but the last.
  const std::string frame = client.output();
  const std::string fields = frame.substr(9) + std::string("\0\x01x\x0a", 4) + "yyyyyyyyyy";
  out.clear();
  for (size_t i = 0; i < 16; ++i) {
    const std::string part = i < 15 ? fields.substr(i, 1) : fields.substr(i);
    out += std::string("\0\0", 2) + static_cast<char>(part.size());
    out += i == 0 ? "\x01\x01" : i < 15 ? std::string("\x09\0", 2) : "\x09\x04";
    out += frame.substr(5, 4) + part;
  }
  REQUIRE_FALSE(server.session.feed(out, milliseconds(0)));
  CHECK(server.heard == ":method=POST :scheme=http :path=/ :authority=a x=yyyyyyyyyy head! ");
}

}  // namespace
}  // namespace lineward::http2
