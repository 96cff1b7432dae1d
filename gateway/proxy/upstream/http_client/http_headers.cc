#include "proxy/upstream/http_client/http_headers.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "config/forward_rules.h"
#include "config/identity_words.h"
#include "foundation/base/version.h"
#include "protocol/http/char_class.h"
#include "protocol/mcp/header_value.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/revision.h"
#include "proxy/core/identity.h"

namespace lineward::upstream {
namespace {

using http::equals_ignoring_case;
using mcp::Field;

constexpr std::string_view kUserAgent = LINEWARD_USER_AGENT;
constexpr std::string_view kParam = "Mcp-Param-";

bool starts_with(std::string_view text, std::string_view prefix) {
  return equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

// Limits on the value of a refusal's header, and on headers of one name.
constexpr size_t kMaxChallengeBytes = 2048;
constexpr size_t kMaxChallenges = 4;
// The largest lines that are cached.
constexpr size_t kMaxKept = 4096;

bool is_plain(std::string_view value) {
  return !value.empty() && value.size() <= kMaxChallengeBytes &&
         std::all_of(value.begin(), value.end(), [](char c) { return c == ' ' || http::is_visible(c); });
}

// RFC 9110, 10.2.3: seconds, or a date, of which only the characters are checked.
bool is_retry_after(std::string_view value) {
  if (std::all_of(value.begin(), value.end(), http::is_digit)) return value.size() <= 9;
  return value.size() <= 40 && value.find(" GMT") == value.size() - 4 &&
         std::all_of(value.begin(), value.end(), [](char c) {
           return http::is_alpha(c) || http::is_digit(c) ||
                  std::string_view(" ,:-").find(c) != std::string_view::npos;
         });
}

void set(Headers& headers, std::string_view name, std::string_view value) {
  for (auto& header : headers) {
    if (!equals_ignoring_case(header.name, name)) continue;
    header.value = std::string(value);
    return;
  }
  headers.push_back({std::string(name), std::string(value)});
}

// The field of the body that Mcp-Name mirrors. Without one, the client's own header is forwarded: only the
// client knows the names of an extension's methods.
Field name_field(const mcp::Message& message) {
  const mcp::MethodRow* row = mcp::row(mcp::method_of(message.method()));
  return row != nullptr ? row->mcp_name : Field::count_;
}

bool is_clients_own(std::string_view name, Field named_by) {
  return starts_with(name, kParam) || (named_by == Field::count_ && equals_ignoring_case(name, "Mcp-Name"));
}

// Calls `add` with the names and values that follow from the message, one of each name.
template <class Add>
void each_modern_header(const mcp::Message& message, Field named_by, Add&& add) {
  const std::string version = message.text(Field::meta_protocol_version);
  add("MCP-Protocol-Version", version.empty() ? mcp::kNewestModern : version);
  add("Mcp-Method", message.method());
  if (named_by != Field::count_ && message.is_string(named_by))
    add("Mcp-Name", mcp::encode_header_value(message.text(named_by)));
}

// A server may take this name for that of a fixed header, or of one about the caller.
bool names_configured(const config::Server& server, std::string_view name) {
  const std::string folded = config::folded_header_name(name);
  const auto is_it = [&](const auto& one) { return config::folded_header_name(one.first) == folded; };
  return std::any_of(server.identity.headers.begin(), server.identity.headers.end(), is_it) ||
         std::any_of(server.headers.begin(), server.headers.end(), is_it);
}

}  // namespace

Headers base_headers(const config::Server& server, HttpVerb verb) {
  Headers headers;
  headers.push_back({"User-Agent", std::string(kUserAgent)});
  if (verb == HttpVerb::post) {
    headers.push_back({"Accept", "application/json, text/event-stream"});
    headers.push_back({"Content-Type", "application/json"});
  } else if (verb == HttpVerb::get) {
    headers.push_back({"Accept", "text/event-stream"});
  }
  headers.push_back({"Accept-Encoding", "identity"});
  for (const auto& [name, value] : server.headers) {
    if (!config::is_own_header(name)) set(headers, name, value);
  }
  return headers;
}

Headers forwarded_headers(const config::Server& server, const ClientHeaders& client) {
  Headers headers;
  for (const auto& [name, value] : client) {
    if (core::is_identity(name) || config::is_own_header(name) || names_configured(server, name)) continue;
    headers.push_back({name, value});
  }
  for (const auto& [name, words] : server.identity.headers) {
    if (std::string value = core::identity_value(client, words); !value.empty())
      headers.push_back({name, std::move(value)});
  }
  return headers;
}

bool is_trace_header(std::string_view name) {
  return equals_ignoring_case(name, "traceparent") || equals_ignoring_case(name, "tracestate");
}

Headers lasting_headers(const Headers& forwarded) {
  Headers out;
  std::copy_if(forwarded.begin(), forwarded.end(), std::back_inserter(out),
               [](const http::OutHeader& header) { return !is_trace_header(header.name); });
  return out;
}

ClientHeaders headers_of_client(const ClientHeaders& of_call) {
  ClientHeaders out = of_call;
  std::erase_if(out, [](const auto& header) {
    return is_trace_header(header.first) ||
           equals_ignoring_case(std::string_view(header.first).substr(0, 4), "Mcp-");
  });
  return out;
}

std::string identity_of(const config::Server& server, const ClientHeaders& client) {
  Headers all = forwarded_headers(server, client);
  for (const auto& field : client) {
    if (core::is_identity(field.first)) all.push_back({field.first, field.second});
  }
  return identity_of(all);
}

std::string identity_of(const Headers& forwarded) {
  std::string text;
  for (const auto& header : forwarded) {
    if (is_trace_header(header.name)) continue;
    for (char c : header.name)
      text += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    text += ':' + header.value + '\n';
  }
  if (text.empty()) return {};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string out;
  for (size_t i = 0; i < 16; ++i)
    out += fmt::format("{:02x}", digest[i]);
  return out;
}

void add_modern_headers(Headers& headers, const mcp::Message& message, const ClientHeaders& client) {
  const Field named_by = name_field(message);
  each_modern_header(message, named_by,
                     [&](std::string_view name, std::string_view value) { set(headers, name, value); });
  for (const auto& [name, value] : client) {
    if (is_clients_own(name, named_by)) headers.push_back({name, value});
  }
}

void ModernLines::append(std::string& head, const mcp::Message& message, const ClientHeaders& client) {
  const Field named_by = name_field(message);
  const std::string_view version = message.raw(Field::meta_protocol_version);
  const std::string_view name = named_by != Field::count_ ? message.raw(named_by) : std::string_view();
  if (method_ != message.method() || name_ != name || version_ != version || lines_.empty()) {
    method_ = message.method();
    name_ = name;
    version_ = version;
    lines_.clear();
    each_modern_header(message, named_by, [&](std::string_view key, std::string_view value) {
      http::append_field(lines_, key, value);
    });
  }
  head += lines_;
  if (name_.size() + version_.size() + lines_.size() > kMaxKept) *this = ModernLines();
  for (const auto& [key, value] : client) {
    if (is_clients_own(key, named_by)) http::append_field(head, key, value);
  }
}

void add_revision(Headers& headers, const ClientHeaders& client) {
  for (const auto& [name, value] : client) {
    if (equals_ignoring_case(name, "MCP-Protocol-Version")) set(headers, "MCP-Protocol-Version", value);
  }
}

void add_session_headers(Headers& headers, const std::string& session_id, const std::string& revision) {
  if (!session_id.empty()) set(headers, "Mcp-Session-Id", session_id);
  if (!revision.empty()) set(headers, "MCP-Protocol-Version", revision);
}

// A name that occurs several times stays so.
void add_all(Headers& headers, const Headers& more) {
  auto replaced = [&](const http::OutHeader& old) {
    return std::any_of(more.begin(), more.end(),
                       [&](const http::OutHeader& one) { return equals_ignoring_case(one.name, old.name); });
  };
  if (!more.empty()) std::erase_if(headers, replaced);
  headers.insert(headers.end(), more.begin(), more.end());
}

std::chrono::milliseconds retry_after(const core::HeaderFields& headers) {
  constexpr std::chrono::milliseconds kUnsaid{-1};
  for (const auto& [name, value] : headers) {
    if (!equals_ignoring_case(name, "Retry-After")) continue;
    int64_t seconds = 0;
    const char* end = value.data() + value.size();
    auto [at, fault] = std::from_chars(value.data(), end, seconds);
    const bool said = fault == std::errc() && at == end && seconds >= 0 && seconds <= 999999999;
    return said ? std::chrono::seconds(seconds) : kUnsaid;
  }
  return kUnsaid;
}

core::HeaderFields challenge_headers(const http::HeaderList& response) {
  core::HeaderFields out;
  for (const auto& header : response.all()) {
    if (!is_plain(header.value)) continue;
    if (equals_ignoring_case(header.name, "WWW-Authenticate") && out.size() < kMaxChallenges)
      out.emplace_back("WWW-Authenticate", header.value);
  }
  std::string_view retry = response.get("Retry-After");
  if (response.count("Retry-After") == 1 && is_plain(retry) && is_retry_after(retry))
    out.emplace_back("Retry-After", retry);
  return out;
}

}  // namespace lineward::upstream
