#include "operate/cli/audit_command.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "operate/cli/prepare.h"
#include "proxy/audit/verify.h"

namespace lineward::cli {
namespace {

using audit::Remark;
using nlohmann::json;

constexpr const char* kAuditFooter =
    "Reads the files of one audit log in the order of their records, and names the first record that was\n"
    "changed, inserted, removed, swapped or cut. Ends with 0 if the log is unchanged, else with 1.\n"
    "Records that were removed at the very end are noticed only with --closed or --known. When the\n"
    "gateway ends, it logs the number and the hash of its last record (audit.closed).\n"
    "\n"
    "Examples\n"
    "  lineward audit verify audit.jsonl audit.jsonl.*\n"
    "  lineward audit verify --key audit.pub --closed audit.jsonl";
constexpr const char* kAuditHelp = "lineward audit --help";
// Limit of the text output; JSON has more.
constexpr size_t kMaxShown = 20;

std::string spelled(const Remark& one) {
  std::string where = one.file;
  if (one.line > 0) where += fmt::format(":{}", one.line);
  return where.empty() ? one.text : where + ": " + one.text;
}

json json_of(const std::vector<Remark>& remarks) {
  json out = json::array();
  for (const Remark& one : remarks)
    out.push_back({{"file", one.file}, {"line", one.line}, {"record", one.seq}, {"text", one.text}});
  return out;
}

void print_json(const audit::Verdict& verdict, const CommandContext& around) {
  json out{{"whole", verdict.whole()},
           {"files", verdict.files},
           {"records", verdict.records},
           {"first", verdict.first},
           {"last", verdict.last},
           {"lastHash", verdict.last_hash},
           {"checkpoints", verdict.checkpoints},
           {"unsigned", verdict.unsigned_records},
           {"found", verdict.found},
           {"findings", json_of(verdict.findings)},
           {"notes", json_of(verdict.notes)}};
  around.out << out.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

void print_text(const audit::Verdict& verdict, const AuditFlags& flags, const CommandContext& around) {
  if (verdict.whole()) {
    around.out << fmt::format("whole: {} records, {} to {}, in {} file{}\n", verdict.records, verdict.first,
                              verdict.last, verdict.files, verdict.files == 1 ? "" : "s");
    if (flags.keys.empty()) {
      if (verdict.checkpoints > 0)
        around.out << fmt::format(
            "  {} checkpoints, their signatures were not looked at: name the key with "
            "--key\n",
            verdict.checkpoints);
    } else {
      around.out << fmt::format("  {} checkpoints, all signed by that key; {} records behind the last one\n",
                                verdict.checkpoints, verdict.unsigned_records);
    }
    around.out << fmt::format("  record {} has the hash {}\n", verdict.last, verdict.last_hash);
  } else {
    around.out << fmt::format("broken: {} finding{}; the first is about record {}\n", verdict.found,
                              verdict.found == 1 ? "" : "s", verdict.findings.front().seq);
    for (size_t i = 0; i < verdict.findings.size() && i < kMaxShown; ++i)
      around.out << "  " << spelled(verdict.findings[i]) << "\n";
    if (verdict.found > kMaxShown) around.out << fmt::format("  … and {} more\n", verdict.found - kMaxShown);
  }
  for (size_t i = 0; i < verdict.notes.size() && i < kMaxShown; ++i)
    around.out << "  note   " << spelled(verdict.notes[i]) << "\n";
}

// "12:HASH"; may be empty.
bool read_known(const std::string& text, audit::VerifyOptions& options) {
  if (text.empty()) return true;
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  const char* end = text.data() + colon;
  auto [at, fault] = std::from_chars(text.data(), end, options.known_seq);
  options.known_hash = text.substr(colon + 1);
  return fault == std::errc() && at == end && options.known_seq > 0 && options.known_hash.size() == 64;
}

}  // namespace

void add_audit(CLI::App& app, AuditFlags& flags) {
  CLI::App* command = app.add_subcommand("audit", "Checks audit logs: audit verify FILE…");
  command->add_option("FILES", flags.words, "verify, then the files in any order")->type_name("");
  command
      ->add_option("--key", flags.keys,
                   "The public key of the checkpoints, PEM; repeat the option if the key changed")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_flag("--closed", flags.closed, "The log must end with its closing record");
  command->add_option("--known", flags.known, "A record that you know must be there: its number and hash")
      ->type_name("SEQ:HASH");
  command->add_option("--format", flags.format, "text or json")->type_name("WORD");
  command->footer(kAuditFooter);
}

ExitCode run_audit(const AuditFlags& flags, const CommandContext& around) {
  if (flags.words.empty() || flags.words.front() != "verify")
    return bad_usage(around.err, "audit takes a word: verify", kAuditHelp);
  if (flags.words.size() < 2)
    return bad_usage(around.err, "audit verify takes the files to read", kAuditHelp);
  if (!flags.format.empty() && flags.format != "text" && flags.format != "json")
    return bad_usage(around.err, "--format is text or json", kAuditHelp);
  audit::VerifyOptions options;
  options.closed = flags.closed;
  if (!read_known(flags.known, options))
    return bad_usage(around.err, "--known is a record's number and hash, as 1204:9f86d0…", kAuditHelp);
  for (const std::string& path : flags.keys) {
    auto key = audit::SigningKey::read_public(path);
    if (!key) {
      around.err << "error: " << key.error().text << "\n  fix    openssl pkey -in audit.key -pubout\n";
      return ExitCode::unavailable;
    }
    options.keys.push_back(std::move(*key));
  }
  auto verdict = audit::verify({flags.words.begin() + 1, flags.words.end()}, options);
  if (!verdict) {
    around.err << "error: " << verdict.error().text << "\n";
    return ExitCode::unavailable;
  }
  flags.format == "json" ? print_json(*verdict, around) : print_text(*verdict, flags, around);
  return verdict->whole() ? ExitCode::ok : ExitCode::failure;
}

}  // namespace lineward::cli
