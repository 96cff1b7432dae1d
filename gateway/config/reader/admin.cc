#include "config/reader/admin.h"

#include <fmt/format.h>

#include "config/reader/section_findings.h"
#include "config/reader/variables.h"
#include "foundation/base/own_host.h"

namespace lineward::config {
namespace {

constexpr size_t kMaxTokenFile = 64 * 1024;
constexpr size_t kMaxTokens = 64;
// Half the length of `openssl rand -base64 24`; still too long to guess.
constexpr size_t kMinToken = 16;
constexpr size_t kMaxToken = 512;

bool is_token(std::string_view text) {
  for (char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return text.size() >= kMinToken && text.size() <= kMaxToken;
}

}  // namespace

bool is_tcp_address(std::string_view address) {
  return address != "stdio" && address.substr(0, 5) != "unix:" && address.find(':') != std::string_view::npos;
}

bool is_open_address(std::string_view address) {
  if (!is_tcp_address(address)) return false;
  return !is_own_host(address.substr(0, address.rfind(':')));
}

Result<std::vector<AdminToken>> parse_admin_tokens(std::string_view text) {
  std::vector<AdminToken> out;
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view blank = " \t\r";
    size_t first = line.find_first_not_of(blank);
    if (first == std::string_view::npos || line[first] == '#') continue;
    line = line.substr(first, line.find_last_not_of(blank) - first + 1);
    size_t gap = line.find_first_of(blank);
    std::string_view role = line.substr(0, gap);
    if (gap == std::string_view::npos || (role != "read" && role != "operate"))
      return fail(fmt::format("line {} is not `read TOKEN` or `operate TOKEN`", number));
    std::string_view token = line.substr(line.find_first_not_of(blank, gap));
    if (!is_token(token)) {
      return fail(fmt::format("the token in line {} is not {} to {} printable characters without blanks",
                              number, kMinToken, kMaxToken));
    }
    if (out.size() == kMaxTokens) return fail(fmt::format("there are more than {} tokens", kMaxTokens));
    out.push_back({std::string(token), role == "operate"});
  }
  if (out.empty()) return fail("there is no token in it");
  return out;
}

Result<std::vector<AdminToken>> read_admin_tokens(const std::string& path) {
  auto text = read_small_file(path, kMaxTokenFile);
  if (!text) return Unexpected<Error>{text.error()};
  auto tokens = parse_admin_tokens(*text);
  if (!tokens) return fail(path + ": " + tokens.error().text);
  return tokens;
}

void check_admin(const Node& root, const LoadOptions& options, LoadResult& result) {
  Admin& admin = result.config.admin;
  SectionFindings findings(root, "admin", result);
  if (admin.token_file.empty()) {
    if (is_open_address(admin.address)) {
      findings.add("address", "open-admin",
                   fmt::format("admin.address {} is not this machine's alone: every client that reaches it "
                               "could stop calls and servers",
                               admin.address),
                   "127.0.0.1:PORT, or add admin.tokenFile with a line: operate $(openssl rand -base64 24)");
    }
    return;
  }
  admin.token_file = resolve_path(admin.token_file, options.directory);
  if (!options.read_files) return;
  auto tokens = read_admin_tokens(admin.token_file);
  if (!tokens) {
    findings.add("tokenFile", "bad-token-file", "admin.tokenFile: " + tokens.error().text,
                 "a line for each: operate $(openssl rand -base64 24)");
  } else {
    findings.check_secrecy("tokenFile", "open-token-file", admin.token_file);
  }
}

}  // namespace lineward::config
