// The floor of a fan-out, without a gateway: a libuv loop that holds streams. It writes the same bytes to
// each, one uv_try_write after the other, when a client calls `change`. It parses nothing.
//
//   bench-bare-fanout PORT      on 127.0.0.1
#include <sys/resource.h>
#include <uv.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr std::string_view kEvent =
    R"(data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}})";
constexpr std::string_view kAcknowledged =
    R"(data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}})";

std::string chunk(std::string_view line) {
  char size[16];
  std::snprintf(size, sizeof size, "%zx\r\n", line.size() + 2);
  return size + std::string(line) + "\n\n\r\n";
}

struct Client {
  uv_tcp_t tcp{};
  std::string in;
  char buffer[4096];
};

std::vector<std::unique_ptr<Client>> g_clients;
std::vector<Client*> g_streams;

void send(Client& client, const std::string& bytes) {
  uv_buf_t buffer = uv_buf_init(const_cast<char*>(bytes.data()), static_cast<unsigned>(bytes.size()));
  int n = uv_try_write(reinterpret_cast<uv_stream_t*>(&client.tcp), &buffer, 1);
  if (n != static_cast<int>(bytes.size())) std::abort();  // what is read at once always fits
}

void on_request(Client& client, std::string_view text) {
  if (text.find("subscriptions/listen") != std::string_view::npos) {
    g_streams.push_back(&client);
    return send(client,
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" +
                    chunk(kAcknowledged));
  }
  static const std::string event = chunk(kEvent);
  for (Client* stream : g_streams)
    send(*stream, event);
  // The caller counts its calls and expects that number in the answer.
  static int calls = 0;
  const std::string number = std::to_string(++calls);
  const std::string answer = R"({"jsonrpc":"2.0","id":)" + number +
                             R"(,"result":{"content":[{"type":"text","text":")" + number + R"("}]}})";
  send(client, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                   std::to_string(answer.size()) + "\r\n\r\n" + answer);
}

// A request has one body, and comes alone.
void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buffer) {
  auto& client = *static_cast<Client*>(stream->data);
  if (n < 0) return uv_close(reinterpret_cast<uv_handle_t*>(stream), nullptr);
  client.in.append(buffer->base, static_cast<size_t>(n));
  size_t head = client.in.find("\r\n\r\n");
  size_t at = client.in.find("Content-Length: ");
  if (head == std::string::npos) return;
  if (at == std::string::npos) {  // a test whether this program is up
    client.in.clear();
    return send(client, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  }
  if (client.in.size() < head + 4 + static_cast<size_t>(std::atoi(client.in.c_str() + at + 16))) return;
  on_request(client, std::exchange(client.in, {}));
}

void on_connection(uv_stream_t* listener, int) {
  auto client = std::make_unique<Client>();
  uv_tcp_init(listener->loop, &client->tcp);
  client->tcp.data = client.get();
  auto* stream = reinterpret_cast<uv_stream_t*>(&client->tcp);
  if (uv_accept(listener, stream) != 0) std::abort();
  uv_tcp_nodelay(&client->tcp, 1);
  uv_read_start(
      stream,
      [](uv_handle_t* handle, size_t, uv_buf_t* out) {
        auto& one = *static_cast<Client*>(handle->data);
        *out = uv_buf_init(one.buffer, sizeof one.buffer);
      },
      on_read);
  g_clients.push_back(std::move(client));
}

}  // namespace

int main(int argc, char** argv) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  uv_loop_t* loop = uv_default_loop();
  uv_tcp_t listener;
  sockaddr_in address{};
  uv_ip4_addr("127.0.0.1", argc == 2 ? std::atoi(argv[1]) : 0, &address);
  uv_tcp_init(loop, &listener);
  if (argc != 2 || uv_tcp_bind(&listener, reinterpret_cast<const sockaddr*>(&address), 0) != 0 ||
      uv_listen(reinterpret_cast<uv_stream_t*>(&listener), 4096, on_connection) != 0) {
    std::fprintf(stderr, "usage: bench-bare-fanout PORT (a free one)\n");
    return 2;
  }
  return uv_run(loop, UV_RUN_DEFAULT);
}
