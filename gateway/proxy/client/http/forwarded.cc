#include "proxy/client/http/forwarded.h"

#include <charconv>
#include <optional>
#include <system_error>
#include <vector>

namespace lineward::client {
namespace {

using http::trim_white_space;

// A client, or a proxy on the way.
struct Hop {
  net::IpAddress address;
  std::optional<uint16_t> port;
};
// nullopt: unknown, a name that hides it ("_a"), or malformed.
using Entry = std::optional<Hop>;

std::optional<uint16_t> read_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

// "192.0.2.7", "192.0.2.7:80", "[2001:db8::1]", "[2001:db8::1]:80", "2001:db8::1". A port that is none (a
// hidden one, "_x") is left out.
Entry read_node(std::string_view node) {
  std::string_view host = node, port;
  if (!node.empty() && node.front() == '[') {
    const size_t end = node.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = node.substr(1, end - 1);
    if (host.find(':') == std::string_view::npos) return std::nullopt;
    port = node.substr(end + 1);
    if (!port.empty() && port.front() != ':') return std::nullopt;
    if (!port.empty()) port.remove_prefix(1);
  } else if (const size_t colon = node.find(':');
             colon != std::string_view::npos && colon == node.rfind(':')) {
    host = node.substr(0, colon);
    port = node.substr(colon + 1);
  }
  const auto address = net::IpAddress::parse(host);
  if (!address) return std::nullopt;
  return Hop{*address, read_port(port)};
}

void read_list(std::string_view value, std::vector<Entry>& out) {
  for (;;) {
    const size_t comma = value.find(',');
    const std::string_view one = trim_white_space(value.substr(0, comma));
    if (!one.empty()) out.push_back(read_node(one));  // an empty element means nothing (RFC 9110 5.6.1)
    if (comma == std::string_view::npos) return;
    value.remove_prefix(comma + 1);
  }
}

// Reads one field of Forwarded from left to right, since commas may be quoted.
class ForwardedReader {
 public:
  explicit ForwardedReader(std::string_view value) : rest_(value) {}

  // False: malformed. Such a field is not believed at all: a client may have begun a quotation that a proxy's
  // own entry ends.
  bool read(std::vector<Entry>& out) {
    for (;;) {
      skip_blanks();
      Entry one;
      bool any = false, named = false;
      for (;;) {
        if (!at_end_of_pair()) {
          if (!pair(one, named)) return false;
          any = true;
        }
        skip_blanks();
        if (rest_.empty() || rest_.front() != ';') break;
        rest_.remove_prefix(1);
        skip_blanks();
      }
      if (any) out.push_back(one);
      if (rest_.empty()) return true;
      if (rest_.front() != ',') return false;
      rest_.remove_prefix(1);
    }
  }

 private:
  bool at_end_of_pair() const { return rest_.empty() || rest_.front() == ';' || rest_.front() == ','; }
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }

  bool pair(Entry& one, bool& named) {
    const size_t equals = rest_.find('=');
    const size_t end = rest_.find_first_of(",;\" \t");
    if (equals == std::string_view::npos || equals == 0 || equals > end) return false;
    const std::string_view name = rest_.substr(0, equals);
    rest_.remove_prefix(equals + 1);
    std::string value;
    if (!(rest_.empty() || rest_.front() != '"' ? token(value) : quoted(value))) return false;
    if (!http::equals_ignoring_case(name, "for")) return true;
    if (named) return false;  // twice in one entry
    named = true;
    one = read_node(value);
    return true;
  }

  // More than a token may be: many write an address with a port, or in brackets, without quotes.
  bool token(std::string& value) {
    value = rest_.substr(0, rest_.find_first_of(",;\" \t"));
    rest_.remove_prefix(value.size());
    return rest_.empty() || rest_.front() != '"';
  }

  bool quoted(std::string& value) {
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') {
        skip_blanks();
        return at_end_of_pair();
      }
      if (c == '\\') {
        if (rest_.empty()) return false;
        c = rest_.front();
        rest_.remove_prefix(1);
      }
      value += c;
    }
    return false;
  }

  std::string_view rest_;
};

// The entries of all fields of that name, as if they were one.
std::vector<Entry> entries_of(const http::HeaderList& headers, std::string_view name, bool list) {
  std::vector<Entry> out;
  for (const http::Header& field : headers.all()) {
    if (!http::equals_ignoring_case(field.name, name)) continue;
    if (list) {
      read_list(field.value, out);
      continue;
    }
    const size_t before = out.size();
    if (ForwardedReader(field.value).read(out)) continue;
    out.resize(before);
    out.emplace_back();  // ends the reading
  }
  return out;
}

std::optional<Hop> client_of(const std::vector<Entry>& entries, const net::Networks& trusted) {
  std::optional<Hop> client;
  for (auto entry = entries.rbegin(); entry != entries.rend() && *entry; ++entry) {
    client = **entry;
    if (!trusted.contains(client->address)) break;
  }
  return client;
}

}  // namespace

ForwardedClient forwarded_client(const http::HeaderList& headers, config::ClientHeader which,
                                 const net::Networks& trusted) {
  using config::ClientHeader;
  constexpr std::string_view kForwarded = "Forwarded", kForwardedFor = "X-Forwarded-For";
  const bool one = which != ClientHeader::x_forwarded_for && headers.count(kForwarded) > 0;
  const bool other = which != ClientHeader::forwarded && headers.count(kForwardedFor) > 0;
  std::optional<Hop> client;
  if (one) client = client_of(entries_of(headers, kForwarded, false), trusted);
  if (other) {
    const auto by_list = client_of(entries_of(headers, kForwardedFor, true), trusted);
    if (one && !client && !by_list) return {};
    const bool same = !one || (client && by_list && client->address == by_list->address);
    if (!same) return {{}, true};
    if (!client || !client->port) client = by_list;
  }
  if (!client) return {};
  return {client->address.as_peer(client->port), false};
}

}  // namespace lineward::client
