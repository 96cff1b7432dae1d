#include "config/options/options_audit.h"

#include "config/options/option_row.h"

namespace lineward::config {
namespace {

using namespace rows;

}  // namespace

void add_audit_rows(std::vector<Option>& rows) {
  using A = Audit;
  constexpr auto k = &Config::audit;
  rows.push_back(row<k, &A::path>(
      "audit.path", Kind::text, "", {},
      "The audit log: a file of JSON lines, each chained to the one before by a hash. Empty: none is kept."));
  rows.push_back(row<k, &A::arguments>("audit.arguments", Kind::flag, "false", {},
                                       "Arguments of calls are recorded, after redaction."));
  rows.push_back(row<k, &A::argument_bytes>("audit.argumentBytes", Kind::size, "4KiB", {1, 64 * kKiB},
                                            "So much of the arguments of each call."));
  rows.push_back(row<k, &A::key_file>(
      "audit.keyFile", Kind::text, "", {},
      "An Ed25519 key that signs checkpoints of the chain, PEM (openssl genpkey -algorithm ed25519)."));
  rows.push_back(row<k, &A::checkpoint_records>("audit.checkpointRecords", Kind::count, "1000", {1, kMillion},
                                                "A checkpoint after so many records."));
  rows.push_back(row<k, &A::checkpoint_every>("audit.checkpointEvery", Kind::duration, "1m", {kSecond, kDay},
                                              "A checkpoint after this long, where anything was recorded."));
  rows.push_back(row<k, &A::max_file_bytes>("audit.maxFileBytes", Kind::size, "64MiB", {16 * kKiB, 16 * kGiB},
                                            "A file of this size is closed, and the next one begun."));
  rows.push_back(row<k, &A::keep_files>("audit.keepFiles", Kind::count, "30", {0, 100000},
                                        "So many full files are kept, the oldest go; 0: all."));
  rows.push_back(row<k, &A::max_waiting_bytes>(
      "audit.maxWaitingBytes", Kind::size, "16MiB", {64 * kKiB, kGiB},
      "Bytes that may wait to be written. Beyond it records are lost, and a record counts them."));
  rows.push_back(choice<k, &A::on_error>(
      "audit.onError", "continue|refuse", "continue",
      "While the file cannot be written: go on (what is lost is recorded later), or refuse every call."));
}

}  // namespace lineward::config
