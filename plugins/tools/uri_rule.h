// Which resources may be seen and used, whatever the spelling of their URIs (plugins/tools/uri_forms.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/common/tool_filter_rules.h"

namespace lineward::plugins {

class UriRule {
 public:
  UriRule() = default;
  UriRule(std::vector<std::string> allow, std::vector<std::string> deny);
  bool empty() const { return rule_.empty(); }
  struct Verdict {
    bool allowed = true;
    std::string_view fault;  // why the URI cannot be judged at all; such a one is not allowed
  };
  // Denied in one form it is denied; to be allowed it must be allowed as written and in its normal form.
  Verdict judge(std::string_view uri) const;
  // Of a template (RFC 6570), which has no normal form before it is expanded.
  bool allows_template(std::string_view text) const { return rule_.allows(text); }

 private:
  NameRule rule_;  // each glob also in its normal form
};

}  // namespace lineward::plugins
