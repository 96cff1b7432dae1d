#include "config/identity_words.h"

#include <algorithm>
#include <array>

namespace lineward::config {
namespace {

constexpr size_t kMaxClaimName = 128;
constexpr std::string_view kPrincipal = "principal";

void add_once(std::vector<std::string>& to, std::string_view text) {
  if (std::find(to.begin(), to.end(), text) == to.end()) to.emplace_back(text);
}

}  // namespace

bool is_about_caller(std::string_view word) {
  return !claim_of(word).empty() || word == "claim:" || word == kPrincipal ||
         word.substr(0, kPrincipal.size() + 1) == "principal.";
}

std::string_view word_fault(std::string_view word) {
  static constexpr std::array<std::string_view, 5> kWords{
      "principal.id", "principal.subject", "principal.kind", "principal.issuer", "principal.scopes"};
  if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return {};
  const std::string_view claim = claim_of(word);
  if (claim.empty())
    return "there are principal.id, principal.subject, principal.kind, principal.issuer, principal.scopes "
           "and "
           "claim:NAME";
  if (claim.size() > kMaxClaimName) return "the name of a claim has at most 128 characters";
  const bool plain =
      std::all_of(claim.begin(), claim.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '$'; });
  const bool whole =
      claim.front() != '.' && claim.back() != '.' && claim.find("..") == std::string_view::npos;
  return plain && whole ? std::string_view()
                        : "claim: takes the name of a claim, with dots between its levels";
}

std::string folded_header_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    const bool digit = c >= '0' && c <= '9';
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c + 32);
    } else if (!digit && (c < 'a' || c > 'z')) {
      c = '-';
    }
  }
  return out;
}

bool tells_callers(const Server& server) {
  const Identity& identity = server.identity;
  return !identity.headers.empty() || !identity.env.empty() ||
         std::any_of(identity.meta.begin(), identity.meta.end(),
                     [](const auto& one) { return has_words(one.second); });
}

std::vector<std::string> words_of(const Server& server) {
  std::vector<std::string> out;
  for (const auto* map : {&server.identity.headers, &server.identity.meta, &server.identity.env}) {
    for (const auto& [name, value] : *map) {
      if (has_words(value)) add_once(out, value);
    }
  }
  return out;
}

std::vector<std::string> claims_for_servers(const Config& config) {
  std::vector<std::string> out;
  for (const Server& server : config.servers) {
    for (const std::string& value : words_of(server)) {
      each_part(
          value, [](std::string_view) {},
          [&](std::string_view word) {
            if (const std::string_view claim = claim_of(word); !claim.empty()) add_once(out, claim);
          });
    }
  }
  return out;
}

}  // namespace lineward::config
