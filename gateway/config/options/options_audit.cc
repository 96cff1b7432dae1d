#include "config/options/option_groups.h"

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
                                            "The largest part of each call's arguments that is recorded."));
  rows.push_back(row<k, &A::key_file>(
      "audit.keyFile", Kind::text, "", {},
      "An Ed25519 key that signs checkpoints of the chain, PEM (openssl genpkey -algorithm ed25519)."));
  rows.push_back(row<k, &A::checkpoint_records>("audit.checkpointRecords", Kind::count, "1000", {1, kMillion},
                                                "A checkpoint is written after this many records."));
  rows.push_back(
      row<k, &A::checkpoint_every>("audit.checkpointEvery", Kind::duration, "1m", {kSecond, kDay},
                                   "A checkpoint is written after this time, if anything was recorded."));
  rows.push_back(row<k, &A::max_file_bytes>("audit.maxFileBytes", Kind::size, "64MiB", {16 * kKiB, 16 * kGiB},
                                            "A file of this size is closed, and the next one begun."));
  rows.push_back(row<k, &A::keep_files>(
      "audit.keepFiles", Kind::count, "30", {0, 100000},
      "The number of full files that are kept; older ones are deleted. 0: all are kept."));
  rows.push_back(row<k, &A::max_waiting_bytes>("audit.maxWaitingBytes", Kind::size, "16MiB",
                                               {64 * kKiB, kGiB},
                                               "Bytes that may wait to be written. Beyond that records are "
                                               "lost, and a later record has their number."));
  rows.push_back(choice<k, &A::on_error>("audit.onError", "continue|refuse", "continue",
                                         "While the file cannot be written: continue: calls go on, and the "
                                         "loss is recorded later. refuse: every call is refused."));
}

}  // namespace lineward::config
