// The requests of a client, as bytes: HTTP head and JSON-RPC body, of either era.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bench {

enum class Era : uint8_t { legacy, modern };

struct Target {
  std::string header = {};  // one more header line, with its CRLF, or empty
  uint16_t port = 0;
  std::string path = "/mcp";
  Era era = Era::modern;
};

// `progress`: a token for progress notifications, none if empty.
std::string call_request(const Target& target, std::string_view session, int64_t id, std::string_view tool,
                         std::string_view nonce, std::string_view progress = {});
// 2026-07-28 only: a request without a name; its params have these members besides _meta ("" or "…,").
std::string plain_request(const Target& target, int64_t id, std::string_view method,
                          std::string_view members);
std::string initialize_request(const Target& target, int64_t id);
std::string notification(const Target& target, std::string_view session, std::string_view method,
                         std::string_view params);

// As many open files as the system allows.
void raise_descriptor_limit();

// A blocking or non-blocking connection to 127.0.0.1; -1 without a listener.
int connect_to(uint16_t port, bool blocking);

}  // namespace bench
