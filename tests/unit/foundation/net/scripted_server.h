// A server for tests that says what it is told to, whatever it is asked.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/net/listener.h"

namespace lineward::net {

struct ScriptedServer {
  struct Peer final : StreamCallbacks {
    ScriptedServer* server = nullptr;
    std::unique_ptr<ByteStream> stream;
    void on_data(std::string_view bytes) override {
      server->heard += bytes;
      if (bytes.find("\r\n\r\n") == std::string_view::npos || server->script.empty()) return;
      std::string answer = server->script.front();
      server->script.erase(server->script.begin());
      if (answer == "close") return stream->close();
      if (answer.rfind("last:", 0) == 0) {  // its end comes right behind it
        stream->write(answer.substr(5));
        stream->flush_now();
        return stream->close();
      }
      stream->write(answer);
    }
    void on_end(int) override { ++server->ends; }
  };
  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<std::string> script;  // an answer for each request, or "close", or "last:" and an answer
  std::string heard;
  int ends = 0;
  std::unique_ptr<Listener> listener;

  explicit ScriptedServer(Loop& loop) {
    auto opened = Listener::open(loop, "127.0.0.1:0", [this](auto stream, std::string) {
      auto peer = std::make_unique<Peer>();
      peer->server = this;
      peer->stream = std::move(stream);
      peer->stream->set_owner(peer.get());
      peer->stream->start_reading();
      peers.push_back(std::move(peer));
    });
    REQUIRE(opened);
    listener = std::move(*opened);
  }
};

}  // namespace lineward::net
