#include "config/reader/audit.h"

#include "config/reader/section_findings.h"
#include "config/reader/variables.h"

namespace lineward::config {
namespace {

// Bytes of a PEM key.
constexpr size_t kMaxAuditKey = 64 * 1024;

}  // namespace

void check_audit(const Node& root, const LoadOptions& options, LoadResult& result) {
  Audit& audit = result.config.audit;
  SectionFindings findings(root, "audit", result);
  if (audit.path.empty()) {
    if (audit == Audit()) return;
    findings.add("path", "missing-option", "audit says how records are kept, and not where: it takes a path",
                 "audit: { path: /var/log/lineward/audit.jsonl }");
    return;
  }
  audit.path = resolve_path(audit.path, options.directory);
  if (audit.key_file.empty()) return;
  audit.key_file = resolve_path(audit.key_file, options.directory);
  if (!options.read_files) return;
  if (auto key = read_small_file(audit.key_file, kMaxAuditKey); !key) {
    findings.add("keyFile", "bad-key-file", "audit.keyFile: " + key.error().text,
                 "openssl genpkey -algorithm ed25519 -out audit.key");
  } else {
    findings.check_secrecy("keyFile", "open-key-file", audit.key_file);
  }
}

}  // namespace lineward::config
