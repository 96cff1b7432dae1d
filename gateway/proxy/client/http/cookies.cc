#include "proxy/client/http/cookies.h"

#include "config/forward_rules.h"

namespace lineward::client {
namespace {

// Calls `visit` with each pair of a Cookie field, trimmed.
template <class Visit>
void each_pair(std::string_view field, Visit&& visit) {
  while (!field.empty()) {
    const size_t end = field.find(';');
    visit(http::trim_white_space(field.substr(0, end)));
    field = end == std::string_view::npos ? std::string_view() : field.substr(end + 1);
  }
}

bool names_state(std::string_view pair) {
  const size_t equals = pair.find('=');
  return equals != std::string_view::npos && pair.substr(0, equals) == config::kStateCookie;
}

}  // namespace

std::vector<std::string_view> state_cookies(const http::HeaderList& headers) {
  std::vector<std::string_view> found;
  for (const auto& header : headers.all()) {
    if (!http::equals_ignoring_case(header.name, "Cookie")) continue;
    each_pair(header.value, [&found](std::string_view pair) {
      if (!names_state(pair)) return;
      std::string_view value = pair.substr(pair.find('=') + 1);
      if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
        value = value.substr(1, value.size() - 2);
      found.push_back(value);
    });
  }
  return found;
}

std::string without_state_cookie(std::string_view field) {
  std::string others;
  bool cut = false;
  each_pair(field, [&](std::string_view pair) {
    cut = cut || names_state(pair);
    if (!pair.empty() && !names_state(pair)) others += (others.empty() ? "" : "; ") + std::string(pair);
  });
  return cut ? others : std::string(field);
}

}  // namespace lineward::client
