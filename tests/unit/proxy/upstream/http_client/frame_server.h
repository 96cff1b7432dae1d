// A server for tests that speaks HTTP/2 without TLS and answers as it is told.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/net/listener.h"
#include "protocol/http2/session.h"

namespace lineward::upstream {

struct FrameServer {
  struct Peer final : net::StreamCallbacks, http2::SessionEvents {
    explicit Peer(FrameServer& its_server, std::unique_ptr<net::ByteStream> its_stream)
        : server(its_server),
          stream(std::move(its_stream)),
          session(http2::Session::Side::server, *this, 65536) {
      const std::array<nghttp2_settings_entry, 1> settings{
          {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, server.most_streams}}};
      nghttp2_submit_settings(session.raw(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
      stream->set_owner(this);
      stream->start_reading();
      if (server.greets) flush();
    }
    void flush() {
      for (std::string_view part = session.output(); !part.empty(); part = session.output())
        stream->write(std::string(part));
    }
    void on_data(std::string_view bytes) override {
      CHECK_FALSE(session.feed(bytes, std::chrono::milliseconds(0)));
      if (server.greets) flush();
    }
    void on_end(int) override { ++server.ends; }
    void on_head_begins(int32_t, bool) override {}
    bool on_field(int32_t id, bool, std::string_view name, std::string_view value) override {
      fields[id].append(name).append("=").append(value).append(" ");
      return true;
    }
    void on_head(int32_t id, bool, bool is_last) override {
      server.asked.emplace_back(this, id);
      if (is_last) on_body_end(id);
    }
    void on_body(int32_t id, std::string_view bytes) override {
      bodies[id] += bytes;
      nghttp2_session_consume(session.raw(), id, bytes.size());
    }
    void on_body_end(int32_t id) override {
      if (server.answers_all) answer(id, "ok");
    }
    void on_body_taken(int32_t) override {}
    void on_end_sent(int32_t) override {}
    void on_stream_closed(int32_t id, uint32_t) override { answers.erase(id); }
    void on_reset(int32_t, uint32_t code) override { server.resets.push_back(code); }
    void on_goaway(uint32_t) override { ++server.goaways; }
    // `complete`: END_STREAM is sent too.
    void answer(int32_t id, std::string body, bool complete = true, std::string length = {}) {
      auto& queue = *(answers[id] = std::make_unique<http2::BodyQueue>());
      queue.push(std::move(body));
      queue.complete = complete;
      std::vector<nghttp2_nv> head{http2::Session::field(":status", "200")};
      if (!length.empty()) head.push_back(http2::Session::field("content-length", length));
      const nghttp2_data_provider source = http2::Session::source(queue);
      nghttp2_submit_response(session.raw(), id, head.data(), head.size(), &source);
      if (!session.is_busy()) flush();
    }
    void reset(int32_t id, uint32_t code) {
      nghttp2_submit_rst_stream(session.raw(), NGHTTP2_FLAG_NONE, id, code);
      flush();
    }

    FrameServer& server;
    std::unique_ptr<net::ByteStream> stream;
    std::map<int32_t, std::string> fields, bodies;
    std::map<int32_t, std::unique_ptr<http2::BodyQueue>> answers;
    http2::Session session;
  };

  uint32_t most_streams = 100;
  bool answers_all = true;
  bool greets = true;  // else it sends nothing at all
  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<std::pair<Peer*, int32_t>> asked;
  std::vector<uint32_t> resets;
  int ends = 0, goaways = 0;
  std::unique_ptr<net::Listener> listener;

  explicit FrameServer(net::Loop& loop) {
    auto opened = net::Listener::open(loop, "127.0.0.1:0", [this](auto stream, std::string) {
      peers.push_back(std::make_unique<Peer>(*this, std::move(stream)));
    });
    REQUIRE(opened);
    listener = std::move(*opened);
  }
};

}  // namespace lineward::upstream
