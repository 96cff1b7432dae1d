#include "proxy/aggregate/uris.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <utility>

namespace lineward::aggregate {
namespace {

constexpr std::string_view kUi = "ui://";
constexpr std::array<std::string_view, 4> kKept{kUi, "https:", "http:", "data:"};

constexpr size_t kMaxTemplates = 1000;
constexpr size_t kMaxSeenUri = 2048;  // bytes

// Stored twice, with a map node and a server's name.
size_t bytes_seen(const std::string& uri) {
  return 2 * uri.size() + 192;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool begins(std::string_view text, std::string_view with) {
  return text.size() >= with.size() &&
         std::equal(with.begin(), with.end(), text.begin(), [](char a, char b) { return a == lower(b); });
}

std::string in_lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool starts_with(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

}  // namespace

std::string origin_token(std::string_view server) {
  std::string token;
  for (char c : server)
    token += c == '_' ? '-' : lower(c);
  bool letter = !token.empty() && token.front() >= 'a' && token.front() <= 'z';
  if (letter && token == server) return token;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(server.data()), server.size(), digest.data());
  return fmt::format("{}{}-{:02x}{:02x}", letter ? "" : "s-", token, digest[0], digest[1]);
}

bool keeps_scheme(std::string_view uri) {
  return std::any_of(kKept.begin(), kKept.end(), [&](std::string_view kept) { return begins(uri, kept); });
}

std::string with_origin(std::string_view server, std::string_view uri) {
  if (!begins(uri, kUi)) return origin_token(server) + "+" + std::string(uri);
  return std::string(uri.substr(0, kUi.size())) + origin_token(server) + "+" +
         std::string(uri.substr(kUi.size()));
}

// ---- several workers ----

void Uris::share(NameSync& sync) {
  sync_ = &sync;
  owners_.share(sync);
}

void Uris::take(const NameClaim& claim) {
  if (claim.kind == NameKind::uri) return owners_.take(claim);
  ++changes_;
  if (claim.kind == NameKind::uri_template) templates_.try_emplace(claim.shown, claim.server);
  if (claim.kind == NameKind::origin) by_token_[claim.shown] = claim.server;
}

void Uris::add_server(const std::string& server) {
  NameSync::Adding adding(sync_);
  const std::string token = origin_token(server);
  auto [entry, is_new] = by_token_.try_emplace(token, server);
  const bool changes = is_new || std::exchange(entry->second, server) != server;
  if (changes) adding.added(NameClaim{NameKind::origin, token, server, {}});
  ++changes_;
}

bool Uris::forget_server(const std::string& server) {
  ++changes_;
  const auto is_its_own = [&](const auto& one) { return one.second == server; };
  bool knew = owners_.forget(server);
  knew |= std::erase_if(templates_, is_its_own) > 0;
  knew |= std::erase_if(by_token_, is_its_own) > 0;
  knew |= std::erase_if(seen_order_, [&](const std::string& uri) {
            auto seen = seen_.find(uri);
            if (seen->second != server) return false;
            seen_bytes_ -= bytes_seen(uri);
            seen_.erase(seen);
            return true;
          }) > 0;
  return knew;
}

// ---- listed URIs ----

std::string Uris::claim(const std::string& server, const std::string& uri, bool bare) {
  std::string origin = with_origin(server, uri);
  std::string shown = owners_.claim(
      server, uri, bare ? std::vector<std::string>{uri, origin} : std::vector<std::string>{origin});
  if (!shown.empty()) return shown;
  // There are too many, or it is too long to be stored: the form with the server's token needs no table.
  return owners_.find(origin) == nullptr ? origin : std::string();
}

std::string Uris::listed(const std::string& server, const std::string& uri) {
  if (!keeps_scheme(uri)) return with_origin(server, uri);
  if (const std::string* known = owners_.shown(server, uri)) return *known;
  const NameSync::Adding adding(sync_);
  return claim(server, uri, named_in(uri) == nullptr);
}

std::string Uris::listed_template(const std::string& server, const std::string& uri_template) {
  if (!keeps_scheme(uri_template)) return with_origin(server, uri_template);
  if (const std::string* known = owners_.shown(server, uri_template)) return *known;
  NameSync::Adding adding(sync_);
  const std::string literal = uri_template.substr(0, uri_template.find('{'));
  const bool room = templates_.count(literal) > 0 || templates_.size() < kMaxTemplates;
  std::string shown = claim(server, uri_template, room && leads_back(server, literal));
  if (shown == uri_template && templates_.try_emplace(literal, server).second) {
    ++changes_;
    adding.added(NameClaim{NameKind::uri_template, literal, server, {}});
  }
  return shown;
}

// `ui://fs+…`; schemes with a colon contain no token.
const std::string* Uris::named_in(std::string_view uri) const {
  if (!begins(uri, kUi)) return nullptr;
  const std::string_view rest = uri.substr(kUi.size());
  const size_t plus = rest.find('+');
  if (plus == std::string_view::npos) return nullptr;
  auto server = by_token_.find(in_lower(rest.substr(0, plus)));
  return server == by_token_.end() ? nullptr : &server->second;
}

// The longest matching template beginning.
const std::string* Uris::template_owner(std::string_view uri) const {
  std::string_view begin = uri;
  for (auto after = templates_.upper_bound(begin); after != templates_.begin();
       after = templates_.upper_bound(begin)) {
    const auto& [literal, server] = *std::prev(after);
    if (starts_with(uri, literal)) return &server;
    const size_t alike =
        std::mismatch(begin.begin(), begin.end(), literal.begin(), literal.end()).first - begin.begin();
    begin = begin.substr(0, alike);
  }
  return nullptr;
}

bool Uris::leads_back(const std::string& server, std::string_view literal) const {
  if (literal.size() >= kMaxSeenUri) return false;
  const std::string whole = in_lower(literal);
  std::string_view rest = std::string_view(whole).substr(whole.find(':') + 1);
  if (starts_with(rest, "//")) rest.remove_prefix(2);
  if (rest.empty()) return false;
  // The host must be in the literal part, not in the expression.
  if (starts_with(whole, "http") && rest.find('/') == std::string_view::npos) return false;
  // An expansion could be `ui://fs+…`.
  const auto could_name = [&](const auto& one) {
    const std::string named = one.first + "+";
    return starts_with(rest, named) || starts_with(named, rest);
  };
  if (starts_with(whole, kUi) && std::any_of(by_token_.begin(), by_token_.end(), could_name)) return false;
  const std::string* before = template_owner(literal);
  if (before != nullptr && *before != server) return false;
  for (auto one = templates_.lower_bound(literal);
       one != templates_.end() && starts_with(one->first, literal); ++one) {
    if (one->second != server) return false;
  }
  return true;
}

// ---- URIs of results ----

std::string Uris::to_client(const std::string& server, const std::string& uri) {
  if (!keeps_scheme(uri)) return with_origin(server, uri);
  if (auto shown = known(server, uri)) return *std::move(shown);
  if (uri.size() > kMaxSeenUri) return uri;
  NameSync::Adding adding(sync_);
  if (auto shown = known(server, uri)) return *std::move(shown);  // another worker's
  if (keep_seen(server, uri)) adding.added(SeenUri{uri, server});
  return uri;
}

std::optional<std::string> Uris::known(const std::string& server, const std::string& uri) const {
  if (const std::string* shown = owners_.shown(server, uri)) return *shown;
  const auto target = to_server(uri);
  if (!target) return std::nullopt;
  return target->server == server && target->uri == uri ? uri : with_origin(server, uri);
}

void Uris::forget_seen() {
  seen_.clear();
  seen_order_.clear();
  seen_bytes_ = 0;
  ++changes_;
}

// Results may contain any number of URIs: only the most recent ones are kept.
bool Uris::keep_seen(const std::string& server, const std::string& uri) {
  if (!seen_.try_emplace(uri, server).second) return false;
  seen_order_.push_back(uri);
  seen_bytes_ += bytes_seen(uri);
  ++changes_;
  if (seen_order_.size() <= most_seen_) return true;
  seen_bytes_ -= bytes_seen(seen_order_.front());
  seen_.erase(seen_order_.front());
  seen_order_.pop_front();
  return true;
}

std::optional<Uris::Target> Uris::to_server(const std::string& shown) const {
  if (const Owners::Owner* owner = owners_.find(shown)) return Target{owner->server, owner->original};
  std::string_view ahead = begins(shown, kUi) ? kUi : std::string_view();
  size_t plus = shown.find('+', ahead.size());
  if (plus != std::string::npos) {
    // A URI's scheme may be in upper case.
    auto server = by_token_.find(in_lower(std::string_view(shown).substr(ahead.size(), plus - ahead.size())));
    if (server != by_token_.end())
      return Target{server->second, shown.substr(0, ahead.size()) + shown.substr(plus + 1)};
  }
  auto seen = seen_.find(shown);
  if (seen != seen_.end()) return Target{seen->second, shown};
  if (const std::string* owner = template_owner(shown)) return Target{*owner, shown};
  return std::nullopt;
}

}  // namespace lineward::aggregate
