// Visible and usable resources, for any spelling of their URIs (plugins/tools/uri_forms.h).
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
    std::string_view fault;  // the reason why the URI is ambiguous; it is not allowed then
  };
  // A URI is denied if any form is denied; it is allowed if its written and its normal form are allowed.
  Verdict judge(std::string_view uri) const;
  // For a template (RFC 6570), which has no normal form before expansion.
  bool allows_template(std::string_view text) const { return rule_.allows(text); }

 private:
  NameRule rule_;  // each glob also in its normal form
};

}  // namespace lineward::plugins
