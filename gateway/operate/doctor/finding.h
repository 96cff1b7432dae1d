// Results of `lineward doctor`: one line each, with the fix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lineward::doctor {

enum class CheckStatus : uint8_t { ok, warning, error, skipped };

struct Finding {
  std::string subject;  // a server's name, "config" or "machine"
  std::string check;    // a stable word: "command", "era", "tls", …
  CheckStatus status = CheckStatus::ok;
  std::string text;   // one plain sentence, without secrets
  std::string where;  // may be empty
  std::string fix;    // empty if all is well
};

class Findings {
 public:
  explicit Findings(std::string subject) : subject_(std::move(subject)) {}
  void ok(std::string check, std::string text) {
    add({subject_, std::move(check), CheckStatus::ok, std::move(text), {}, {}});
  }
  // A warning: it works, but causes trouble.
  void warning(std::string check, std::string text, std::string fix, std::string where = {}) {
    add({subject_, std::move(check), CheckStatus::warning, std::move(text), std::move(where),
         std::move(fix)});
  }
  void error(std::string check, std::string text, std::string fix, std::string where = {}) {
    add({subject_, std::move(check), CheckStatus::error, std::move(text), std::move(where), std::move(fix)});
  }
  // Skipped: `text` has the reason.
  void skipped(std::string check, std::string text) {
    add({subject_, std::move(check), CheckStatus::skipped, std::move(text), {}, {}});
  }
  const std::vector<Finding>& all() const { return all_; }
  bool has_fault() const {
    for (const Finding& one : all_) {
      if (one.status == CheckStatus::error) return true;
    }
    return false;
  }

 private:
  void add(Finding finding) { all_.push_back(std::move(finding)); }

  std::string subject_;
  std::vector<Finding> all_;
};

}  // namespace lineward::doctor
