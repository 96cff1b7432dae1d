#include "plugins/tools/uri_rule.h"

#include <utility>

#include "plugins/tools/uri_forms.h"

namespace lineward::plugins {
namespace {

void add_normal(std::vector<std::string>& globs) {
  const size_t given = globs.size();
  for (size_t i = 0; i < given; ++i) {
    std::string normal = normal_uri_glob(globs[i]);
    if (!normal.empty()) globs.push_back(std::move(normal));
  }
}

}  // namespace

UriRule::UriRule(std::vector<std::string> allow, std::vector<std::string> deny)
    : rule_{std::move(allow), std::move(deny)} {
  add_normal(rule_.allow);
  add_normal(rule_.deny);
}

UriRule::Verdict UriRule::judge(std::string_view uri) const {
  if (empty()) return {};
  UriForms forms = uri_forms(uri);
  if (!forms.fault.empty()) return {false, forms.fault};
  bool denied = !rule_.allows(uri) || !rule_.allows(forms.normal);
  for (const std::string& other : forms.others)
    denied = denied || rule_.denies(other);
  return {!denied, {}};
}

}  // namespace lineward::plugins
