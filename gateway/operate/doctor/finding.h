// Results of `lineward doctor`: one line each, with the fix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lineward::doctor {

enum class Verdict : uint8_t { well, doubt, fault, untold };

struct Finding {
  std::string subject;  // a server's name, "config" or "machine"
  std::string check;    // a stable word: "command", "era", "tls", …
  Verdict verdict = Verdict::well;
  std::string text;   // one plain sentence, without secrets
  std::string where;  // may be empty
  std::string fix;    // empty if all is well
};

class Findings {
 public:
  explicit Findings(std::string subject) : subject_(std::move(subject)) {}
  void well(std::string check, std::string text) {
    add({subject_, std::move(check), Verdict::well, std::move(text), {}, {}});
  }
  // A warning: it works, but causes trouble.
  void doubt(std::string check, std::string text, std::string fix, std::string where = {}) {
    add({subject_, std::move(check), Verdict::doubt, std::move(text), std::move(where), std::move(fix)});
  }
  void fault(std::string check, std::string text, std::string fix, std::string where = {}) {
    add({subject_, std::move(check), Verdict::fault, std::move(text), std::move(where), std::move(fix)});
  }
  // Skipped: `text` has the reason.
  void untold(std::string check, std::string text) {
    add({subject_, std::move(check), Verdict::untold, std::move(text), {}, {}});
  }
  const std::vector<Finding>& all() const { return all_; }
  bool has_fault() const {
    for (const Finding& one : all_) {
      if (one.verdict == Verdict::fault) return true;
    }
    return false;
  }

 private:
  void add(Finding finding) { all_.push_back(std::move(finding)); }

  std::string subject_;
  std::vector<Finding> all_;
};

}  // namespace lineward::doctor
