#include "config/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "config/identity_words.h"
#include "foundation/json/json_scan.h"

namespace lineward::config {
namespace {

// The last word of a name, or its ending, in capitals.
constexpr std::array<std::string_view, 18> kTellingEnds{
    "KEY",  "KEYS", "TOKEN", "TOKENS",      "SECRET",     "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE",
    "PASS", "PWD",  "AUTH",  "CREDENTIALS", "CREDENTIAL", "COOKIE",  "DSN",      "SALT",   "AUTHORIZATION"};
// Shorter endings must be a whole word ("COMPASS" does not count as PASS), except KEY.
constexpr size_t kShortestEnding = 5;
constexpr size_t kLongestPlain = 20, kLongestWord = 15, kLongestNumber = 4, kMostSegments = 4;
// Lines of a longer text: shorter lines occur in other texts too.
constexpr size_t kShortestLine = 16;
// Shorter parts of text beside a word about a caller are not hidden.
constexpr size_t kShortestPart = 6;

bool is_figure(char c) {
  return c >= '0' && c <= '9';
}
bool is_small(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

// "API_KEY", "apiKey" and "x-api-key" end with the word KEY.
bool promises_secret(std::string_view name) {
  size_t begin = name.size();
  while (begin > 0) {
    const char c = name[begin - 1];
    if (!is_figure(c) && !is_small(c) && !is_capital(c)) break;
    --begin;
    if (is_capital(c) && begin > 0 && is_small(name[begin - 1])) break;  // camelCase word boundary
  }
  std::string word(name.substr(begin));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return std::any_of(kTellingEnds.begin(), kTellingEnds.end(), [&word](std::string_view end) {
    if (word.size() < end.size() || std::string_view(word).substr(word.size() - end.size()) != end)
      return false;
    return word.size() == end.size() || end.size() >= kShortestEnding || end == "KEY";
  });
}

// "production", "eu-central-1", "Europe/Berlin", "tools/call".
bool is_plain(std::string_view value) {
  if (value.size() > kLongestPlain) return false;
  size_t segments = 0;
  while (!value.empty()) {
    const size_t end = std::min(value.find_first_of("-_./: "), value.size());
    const std::string_view segment = value.substr(0, end);
    value.remove_prefix(std::min(value.size(), end + 1));
    const std::string_view small =
        !segment.empty() && is_capital(segment.front()) ? segment.substr(1) : segment;
    const bool word = segment.size() <= kLongestWord && std::all_of(small.begin(), small.end(), is_small);
    const bool number =
        segment.size() <= kLongestNumber && std::all_of(segment.begin(), segment.end(), is_figure);
    if ((!word && !number) || ++segments > kMostSegments) return false;
  }
  return true;
}

bool is_number(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    return is_figure(c) || c == '.' || c == ',' || c == ':' || c == '-' || c == '+';
  });
}

class Secrets {
 public:
  // Null: collects all values of a server, including server names and harmless values.
  explicit Secrets(const Config* config) : config_(config) {}

  void add(const Server& server) {
    for (const auto& [name, value] : server.env)
      add_unless_harmless(name, value);
    for (const auto& [name, value] : server.headers) {
      if (passes(name, value)) continue;
      add(value);
      const size_t gap = value.find(' ');  // "Bearer TOKEN"
      if (gap != std::string::npos) add(std::string_view(value).substr(gap + 1));
      add_pairs(value, ";");
    }
    for (const auto* map : {&server.identity.headers, &server.identity.env, &server.identity.meta}) {
      for (const auto& [name, value] : *map)
        each_part(
            value, [&, &key = name](std::string_view text) { add_beside_words(key, text); },
            [](std::string_view) {});
    }
    add_query(server.url);
    for (const OriginUrl& origin : server.urls)
      add_query(origin.url);
    add(server.credentials.client_secret);
    add(server.credentials.private_key);
    add_userinfo(server.proxy);
  }
  void add_given(const std::string& value) { add(value); }
  std::vector<std::string> take() { return std::move(out_); }

 private:
  // Text beside words about a caller. Plain words, such as "Bearer" and "user:", would hide too much.
  void add_beside_words(std::string_view name, std::string_view text) {
    constexpr std::string_view kBetween = " \t=;,:";
    while (!text.empty()) {
      const std::string_view part = text.substr(0, text.find_first_of(kBetween));
      text.remove_prefix(std::min(text.size(), part.size() + 1));
      if (part.size() < kShortestPart || (part.size() <= kLongestWord && is_plain(part))) continue;
      add_unless_harmless(name, part);
    }
  }
  void add_query(std::string_view url) {
    const size_t query = url.find('?');
    if (query != std::string_view::npos) add_pairs(url.substr(query + 1), "&");
  }

  bool passes(std::string_view name, std::string_view value) const {
    return config_ != nullptr && is_harmless(name, value);
  }

  void add(std::string_view value) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const size_t begin = std::min(value.find_first_not_of(kBlanks), value.size());
    value.remove_prefix(begin);
    value = value.substr(0, value.find_last_not_of(kBlanks) + 1);
    if (value.empty() || is_name(value)) return;
    out_.emplace_back(value);
    std::string quoted = json::quote(value);
    quoted = quoted.substr(1, quoted.size() - 2);
    if (quoted != value) out_.push_back(quoted);
    for (size_t at = quoted.find('/'); at != std::string::npos; at = quoted.find('/', at + 2))
      quoted.insert(at, 1, '\\');
    if (quoted != value) out_.push_back(std::move(quoted));
    if (value.find('\n') == std::string_view::npos) return;
    for (size_t at = 0; at < value.size();) {
      const size_t end = std::min(value.find('\n', at), value.size());
      const std::string_view line = value.substr(at, end - at);
      if (config_ == nullptr || (line.size() >= kShortestLine && line.substr(0, 5) != "-----"))
        out_.emplace_back(line);
      at = end + 1;
    }
  }
  void add_unless_harmless(std::string_view name, std::string_view value) {
    if (!passes(name, value)) add(value);
  }
  // "a=1; b=2", "a=1&b=2".
  void add_pairs(std::string_view text, std::string_view between) {
    while (!text.empty()) {
      const std::string_view pair = text.substr(0, text.find_first_of(between));
      text.remove_prefix(std::min(text.size(), pair.size() + 1));
      const size_t equals = pair.find('=');
      if (equals != std::string_view::npos)
        add_unless_harmless(pair.substr(0, equals), pair.substr(equals + 1));
    }
  }
  // "http://user:password@host": both together, and the password alone.
  void add_userinfo(std::string_view proxy) {
    const size_t at = proxy.rfind('@');
    const size_t scheme = proxy.find("://");
    if (at == std::string_view::npos || scheme == std::string_view::npos || scheme + 3 >= at) return;
    const std::string_view userinfo = proxy.substr(scheme + 3, at - scheme - 3);
    add(userinfo);
    const size_t colon = userinfo.find(':');
    if (colon != std::string_view::npos) add(userinfo.substr(colon + 1));
  }
  bool is_name(std::string_view value) const {
    return config_ != nullptr && std::any_of(config_->servers.begin(), config_->servers.end(),
                                             [value](const Server& server) { return server.name == value; });
  }

  const Config* config_;
  std::vector<std::string> out_;
};

}  // namespace

bool is_harmless(std::string_view name, std::string_view value) {
  if (promises_secret(name)) return false;
  if (value.empty() || value.front() == '/' || value.substr(0, 2) == "./" || value.front() == '~')
    return true;
  const size_t scheme = value.find("://");
  if (scheme != std::string_view::npos) return value.find_first_of("@?") == std::string_view::npos;
  return is_number(value) || is_plain(value);
}

std::vector<std::string> secrets_of(const Config& config) {
  Secrets out(&config);
  for (const std::string& value : config.given_secrets)
    out.add_given(value);
  for (const Server& server : config.servers)
    out.add(server);
  return out.take();
}

std::vector<std::string> given_to(const Server& server) {
  Secrets out(nullptr);
  out.add(server);
  return out.take();
}

}  // namespace lineward::config
