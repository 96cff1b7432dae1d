#include "config/reader/replicas.h"

#include <fmt/format.h>

#include "config/reader/section_findings.h"
#include "config/reader/variables.h"

namespace lineward::config {
namespace {

constexpr size_t kMaxKeyFile = 64 * 1024;

}  // namespace

void check_replicas(const Node& root, const LoadOptions& options, LoadResult& result) {
  Replicas& replicas = result.config.replicas;
  SectionFindings findings(root, "replicas", result);
  if (!replicas.peers.empty() && replicas.name.empty()) {
    findings.add("peers", "missing-option",
                 "replicas.peers is of no use without replicas.name: ids must name their replica",
                 "add name:, such as ${env:HOSTNAME}");
  }
  if (replicas.key_file.empty()) {
    if (replicas.peers.empty() && replicas.name.empty()) return;
    findings.add("keyFile", "missing-option",
                 "replicas take a keyFile: without a common key none can trust another",
                 "openssl rand -base64 32 > replicas.key");
    return;
  }
  if (result.config.listen.address == "stdio") {
    findings
        .add("keyFile", "ignored-option",
             "on stdio there is one client and one session: 'replicas' is ignored", {})
        .severity = Severity::info;
    return;
  }
  replicas.key_file = resolve_path(replicas.key_file, options.directory);
  if (!options.read_files) return;
  auto keys = read_replica_keys(replicas.key_file);
  if (!keys) {
    findings.add("keyFile", "bad-key-file", "replicas.keyFile: " + keys.error().text,
                 "one key a line: openssl rand -base64 32 > replicas.key");
  } else {
    findings.check_secrecy("keyFile", "open-key-file", replicas.key_file);
  }
}

Result<std::shared_ptr<const SealKeys>> read_replica_keys(const std::string& path) {
  auto text = read_small_file(path, kMaxKeyFile);
  if (!text) return Unexpected<Error>{text.error()};
  auto keys = SealKeys::parse(*text);
  if (!keys) return fail(path + ": " + keys.error().text);
  return keys;
}

}  // namespace lineward::config
