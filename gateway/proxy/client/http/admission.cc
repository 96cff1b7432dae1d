#include "proxy/client/http/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "foundation/base/own_host.h"
#include "protocol/mcp/errors.h"
#include "protocol/mcp/header_value.h"
#include "protocol/mcp/methods.h"
#include "protocol/mcp/rewrite.h"

namespace lineward::client {
namespace {

using mcp::Field;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

// "example.com:8080" → "example.com", "[::1]:80" → "[::1]".
std::string_view without_port(std::string_view host) {
  if (!host.empty() && host.front() == '[') {
    size_t end = host.find(']');
    return end == std::string_view::npos ? host : host.substr(0, end + 1);
  }
  return host.substr(0, host.rfind(':'));
}

// A configured host with a port matches exactly; one without a port matches any port.
bool host_listed(const std::vector<std::string>& list, std::string_view host) {
  for (const auto& entry : list) {
    if (http::equals_ignoring_case(entry, host) || http::equals_ignoring_case(entry, without_port(host)))
      return true;
  }
  return false;
}

HttpError header_mismatch(std::string text) {
  return bad_request(mcp::kHeaderMismatch, "Header mismatch: " + std::move(text));
}

// The error for a header that must be there exactly once.
HttpError not_single(const http::HeaderList& headers, http::FieldName name) {
  size_t count = headers.count(name);
  return header_mismatch(count == 0 ? fmt::format("the {} header is missing", name.text)
                                    : fmt::format("the {} header stands there {} times", name.text, count));
}

bool media_type_is(std::string_view value, std::string_view type) {
  return http::equals_ignoring_case(trim(value.substr(0, value.find(';'))), type);
}

std::optional<HttpError> check_name(const mcp::Message& message, const http::HeaderList& headers,
                                    Field source) {
  const http::Header* header = headers.only("Mcp-Name");
  if (header == nullptr) return not_single(headers, "Mcp-Name");
  std::string room;
  std::optional<std::string_view> decoded = mcp::decode_header_value(header->value, room);
  if (!decoded) return header_mismatch("the Mcp-Name header is no valid encoded value");
  if (!message.is_string(source)) return std::nullopt;  // the server reports errors in its own parameters
  if (!message.text_is(source, *decoded))
    return header_mismatch("the Mcp-Name header differs from the name in the body");
  return std::nullopt;
}

}  // namespace

std::optional<HttpError> check_host(const http::HeaderList& headers, const config::Listen& listen,
                                    bool loopback) {
  std::string_view host = headers.get("Host");
  bool check_host = loopback || !listen.allowed_hosts.empty();
  if (check_host && !host_listed(listen.allowed_hosts, host) &&
      !(loopback && is_own_host(without_port(host)))) {
    return forbidden("this Host is not served here (listen.allowedHosts)");
  }
  return std::nullopt;
}

std::optional<HttpError> check_addresses(const http::HeaderList& headers, const config::Listen& listen,
                                         bool loopback) {
  if (auto refusal = check_host(headers, listen, loopback)) return refusal;
  size_t origins = headers.count("Origin");
  if (origins == 0) return std::nullopt;
  std::string origin = http::lower_case(headers.get("Origin"));
  for (const auto& allowed : listen.allowed_origins) {
    if (origins == 1 && http::equals_ignoring_case(allowed, origin)) return std::nullopt;
  }
  if (origins == 1 && loopback) {
    for (std::string_view scheme : {"http://", "https://"}) {
      if (origin.substr(0, scheme.size()) == scheme &&
          is_own_host(without_port(std::string_view(origin).substr(scheme.size())))) {
        return std::nullopt;
      }
    }
  }
  return forbidden("requests from this Origin are refused (listen.allowedOrigins)");
}

Accepts accepts(const http::HeaderList& headers) {
  // Sent by every SDK client.
  constexpr std::string_view kUsualAccept = "application/json, text/event-stream";
  size_t count = headers.count("Accept");
  if (count == 0 || (count == 1 && headers.get("Accept") == kUsualAccept)) return {};
  Accepts out{false, false};
  for (const auto& header : headers.all()) {
    if (!http::equals_ignoring_case(header.name, "Accept")) continue;
    for (std::string_view any : {"*/*", "application/*", "application/json"}) {
      if (http::list_has_token(header.value, any)) out.json = true;
    }
    for (std::string_view any : {"*/*", "text/*", "text/event-stream"}) {
      if (http::list_has_token(header.value, any)) out.events = true;
    }
  }
  return out;
}

namespace {

std::optional<HttpError> check_accept(const http::HeaderList& headers) {
  Accepts takes = accepts(headers);
  if (!takes.json && !takes.events) {
    return not_acceptable("Accept must allow application/json and text/event-stream");
  }
  return std::nullopt;
}

}  // namespace

bool came_through_proxy(const http::HeaderList& headers) {
  static constexpr std::array<std::string_view, 3> kNames{"Via", "Forwarded", "X-Forwarded-For"};
  return std::any_of(kNames.begin(), kNames.end(), [&](auto name) { return headers.count(name) > 0; });
}

bool names_session(const http::HeaderList& headers) {
  return headers.count("Mcp-Session-Id") > 0 && !mcp::looks_modern(headers.get("MCP-Protocol-Version"));
}

std::string_view session_in_query(std::string_view target) {
  size_t at = target.find('?');
  while (at != std::string_view::npos) {
    std::string_view rest = target.substr(at + 1);
    size_t end = rest.find('&');
    if (rest.substr(0, kSessionParameter.size()) == kSessionParameter) {
      rest.remove_prefix(kSessionParameter.size());
      return rest.substr(0, rest.find('&'));
    }
    at = end == std::string_view::npos ? end : at + 1 + end;
  }
  return {};
}

std::string_view legacy_revision_named(const http::HeaderList& headers) {
  if (headers.count("MCP-Protocol-Version") != 1) return {};
  const mcp::Revision* revision = mcp::find_revision(headers.get("MCP-Protocol-Version"));
  const bool legacy = revision != nullptr && revision->era == mcp::Era::legacy && revision->streamable_http;
  return legacy ? revision->name : std::string_view();
}

bool names_other_version(const http::HeaderList& headers) {
  return headers.count("MCP-Protocol-Version") > 0 && legacy_revision_named(headers).empty();
}

std::optional<HttpError> check_post_headers(const http::HeaderList& headers) {
  if (headers.count("Content-Type") != 1 || !media_type_is(headers.get("Content-Type"), "application/json")) {
    return unsupported_type("Content-Type must be application/json");
  }
  if (headers.get("Content-Type") == "application/json" && headers.count("Content-Encoding") == 0)
    return check_accept(headers);
  std::string type = http::lower_case(headers.get("Content-Type"));
  size_t charset = type.find("charset=");
  if (charset != std::string::npos) {
    std::string_view value = std::string_view(type).substr(charset + 8);
    // US-ASCII is a part of UTF-8.
    value = trim(value.substr(0, value.find(';')));
    if (value.size() > 1 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    if (value != "utf-8" && value != "utf8" && value != "us-ascii" && value != "ascii") {
      return unsupported_type("JSON is sent as UTF-8; this charset is not supported");
    }
  }
  if (headers.count("Content-Encoding") > 0 &&
      !http::equals_ignoring_case(headers.get("Content-Encoding"), "identity")) {
    return unsupported_type("Content-Encoding is not supported; send the body as it is");
  }
  return check_accept(headers);
}

std::optional<mcp::Era> era_of(const mcp::Message& message, const http::HeaderList& headers) {
  if (message.has(Field::meta_protocol_version)) return mcp::Era::modern;
  // Some legacy clients send the newest version in the header before they have agreed on one.
  if (message.method() == "initialize") return mcp::Era::legacy;
  if (mcp::looks_modern(headers.get("MCP-Protocol-Version"))) return mcp::Era::modern;
  if (headers.count("Mcp-Session-Id") > 0) return mcp::Era::legacy;
  return std::nullopt;
}

namespace {

std::optional<HttpError> check_revision(const mcp::Message& message, std::string_view version,
                                        const std::vector<std::string>& supported) {
  const mcp::Revision* revision = mcp::find_revision(version);
  if (revision == nullptr || revision->era != mcp::Era::modern) {
    HttpError refusal = bad_request(mcp::kUnsupportedVersion, "Unsupported protocol version");
    refusal.body = mcp::unsupported_version(message.raw(Field::id), version, supported);
    return refusal;
  }
  return std::nullopt;
}

// Checks the fields that every request needs, and rejects removed methods.
std::optional<HttpError> check_meta_and_method(const mcp::Message& message, const mcp::MethodRow* row,
                                               std::string_view version) {
  if (!message.has(Field::meta_protocol_version) || !message.is_object(Field::meta_client_capabilities)) {
    return invalid_params(message.has(Field::meta_protocol_version)
                              ? "params._meta needs io.modelcontextprotocol/clientCapabilities (an object)"
                              : "params._meta needs io.modelcontextprotocol/protocolVersion");
  }
  if (row != nullptr && !row->modern) {
    return rpc_error(404, mcp::kMethodNotFound,
                     fmt::format("Method not found: {} is not part of {}", message.method(), version));
  }
  // Without its filter, neither a translator nor the server can serve it.
  if (row != nullptr && row->method == mcp::Method::subscriptions_listen &&
      !message.is_object(Field::params_notifications)) {
    return rpc_error(200, mcp::kInvalidParams, "subscriptions/listen needs params.notifications (an object)");
  }
  return std::nullopt;
}

}  // namespace

std::optional<HttpError> check_modern_request(const mcp::Message& message, const http::HeaderList& headers,
                                              const std::vector<std::string>& supported) {
  const http::Header* version = headers.only("MCP-Protocol-Version");
  if (version == nullptr) return not_single(headers, "MCP-Protocol-Version");
  if (message.has(Field::meta_protocol_version) &&
      !message.text_is(Field::meta_protocol_version, version->value))
    return header_mismatch("MCP-Protocol-Version differs from the version in _meta");
  if (auto refusal = check_revision(message, version->value, supported)) return refusal;
  const http::Header* method = headers.only("Mcp-Method");
  if (method == nullptr) return not_single(headers, "Mcp-Method");
  if (method->value != message.method())
    return header_mismatch("the Mcp-Method header differs from the method in the body");
  const mcp::MethodRow* row = mcp::row(mcp::method_of(message.method()));
  if (row != nullptr && row->mcp_name != Field::count_) {
    if (auto refusal = check_name(message, headers, row->mcp_name)) return refusal;
  }
  return check_meta_and_method(message, row, version->value);
}

std::optional<HttpError> check_modern_body(const mcp::Message& message,
                                           const std::vector<std::string>& supported) {
  if (!message.is_string(Field::meta_protocol_version)) {
    return invalid_params("params._meta: io.modelcontextprotocol/protocolVersion is a string");
  }
  std::string version = message.text(Field::meta_protocol_version);
  if (auto refusal = check_revision(message, version, supported)) return refusal;
  return check_meta_and_method(message, mcp::row(mcp::method_of(message.method())), version);
}

std::optional<HttpError> check_legacy_version(const http::HeaderList& headers, std::string_view negotiated) {
  size_t count = headers.count("MCP-Protocol-Version");
  if (count == 0) return std::nullopt;  // 2025-03-26 did not have it
  if (count == 1 && !negotiated.empty() && headers.get("MCP-Protocol-Version") == negotiated)
    return std::nullopt;
  const mcp::Revision* revision = mcp::find_revision(headers.get("MCP-Protocol-Version"));
  if (count > 1 || revision == nullptr || revision->era != mcp::Era::legacy) {
    return invalid_request(
        "Unsupported protocol version in MCP-Protocol-Version (supported: 2025-11-25, 2025-06-18, "
        "2025-03-26)");
  }
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> preferred_wait(const http::HeaderList& headers) {
  for (const auto& header : headers.all()) {
    if (!http::equals_ignoring_case(header.name, "Prefer")) continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      size_t comma = rest.find(',');
      std::string_view item = trim(rest.substr(0, comma));
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
      if (http::lower_case(item.substr(0, 5)) != "wait=") continue;
      uint32_t seconds = 0;
      std::string_view digits = trim(item.substr(5, item.find(';') - 5));
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
      if (error == std::errc() && end == digits.data() + digits.size() && seconds > 0 && seconds <= 86400) {
        return std::chrono::seconds(seconds);
      }
    }
  }
  return std::nullopt;
}

}  // namespace lineward::client
