#include "proxy/audit/verify.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "foundation/json/json_member.h"
#include "proxy/audit/audit.h"
#include "proxy/audit/entry.h"
#include "proxy/audit/hash_chain.h"

namespace lineward::audit {
namespace {

// Maximum size of a crash's remains before a `torn` record.
constexpr size_t kMaxRegion = 8 << 20;

// The lines of a file; overlong lines are truncated.
class Lines {
 public:
  static Result<Lines> open(const std::string& path) {
    // Files are read twice, first to sort them: a pipe can be read only once. The type is checked before
    // opening, since opening a pipe blocks until it has a writer.
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
      return fail(fmt::format("cannot read {}: not a regular file; unpack it into one first", path));
    std::FILE* file = std::fopen(path.c_str(), "re");
    // A directory can be opened but not read.
    if (file != nullptr && std::getc(file) == EOF && std::ferror(file) != 0) {
      const int error = errno;
      std::fclose(file);
      errno = error;
      file = nullptr;
    }
    if (file == nullptr) return fail(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    std::rewind(file);
    return Lines(file);
  }
  // False at the end. `line`: without its newline.
  bool next(std::string& line) {
    line.clear();
    complete_ = false;
    for (;;) {
      if (at_ == end_) {
        end_ = std::fread(buffer_->data(), 1, buffer_->size(), file_.get());
        at_ = 0;
        if (end_ == 0) return !line.empty();
      }
      const char* from = buffer_->data() + at_;
      const auto* newline = static_cast<const char*>(std::memchr(from, '\n', end_ - at_));
      const size_t size = newline == nullptr ? end_ - at_ : static_cast<size_t>(newline - from);
      if (line.size() <= kMaxRegion) line.append(from, size);
      at_ += size + (newline == nullptr ? 0 : 1);
      if (newline == nullptr) continue;
      complete_ = true;
      return true;
    }
  }
  bool complete() const { return complete_; }  // the last line ended with a newline

 private:
  explicit Lines(std::FILE* file)
      : file_(file, std::fclose), buffer_(std::make_unique<std::string>(256 * 1024, '\0')) {}
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::unique_ptr<std::string> buffer_;
  size_t at_ = 0, end_ = 0;
  bool complete_ = false;
};

class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options) : options_(options) {}

  Status<> read(const std::string& path);
  Verdict finish();

 private:
  void line(std::string_view text, bool complete);
  void record(const Record& record, std::string_view text);
  void signature(const Record& record, std::string_view text);
  bool is_mended(const Record& record, std::string_view text);
  void no_record(std::string_view text, bool complete);
  bool is_all_cut_off() const { return region_ == cut_off_ && !region_overflowed_; }
  void forgive_region();
  void end_region();
  void not_signed(uint64_t seq);
  void find_not_signed();
  void find(uint64_t seq, std::string text);
  void note(uint64_t seq, std::string text);
  std::string place() const { return fmt::format("{}:{}", file_, line_); }

  const VerifyOptions& options_;
  Verdict verdict_;
  std::string file_;
  uint64_t line_ = 0;
  // The position in the chain.
  bool begun_ = false;
  bool begins_within_a_file_ = false;  // the only finding so far
  uint64_t seq_ = 0;
  std::string hash_;
  std::string type_;
  bool closed_ = false;       // the whole log is closed, not only a file
  bool last_signed_ = false;  // the previous record is a checkpoint signed as the last one
  bool end_signed_ = false;   // the closing record follows such a checkpoint
  std::string place_;
  bool known_seen_ = false;
  // Text since the last record that is not a record; and the findings before it, to restore if it is a
  // crash's remains.
  std::string region_;
  size_t findings_before_region_ = 0;
  uint64_t found_before_region_ = 0;
  bool in_region_ = false;
  bool region_overflowed_ = false;  // the region is truncated, so none of it can be forgiven
  std::string cut_off_;             // incomplete line at the end of a file
  // The first file closed without a checkpoint after the last valid signature.
  std::optional<Remark> unsigned_close_;
  uint64_t unsigned_closes_ = 0;
  size_t findings_before_close_ = 0;
};

void Verifier::find(uint64_t seq, std::string text) {
  ++verdict_.found;
  if (verdict_.findings.size() < Verdict::kMaxRemarks)
    verdict_.findings.push_back({file_, line_, seq, std::move(text)});
}

void Verifier::note(uint64_t seq, std::string text) {
  if (verdict_.notes.size() < Verdict::kMaxRemarks)
    verdict_.notes.push_back({file_, line_, seq, std::move(text)});
}

Status<> Verifier::read(const std::string& path) {
  auto lines = Lines::open(path);
  if (!lines) return Unexpected<Error>{lines.error()};
  ++verdict_.files;
  file_ = path;
  line_ = 0;
  std::string text;
  while (lines->next(text)) {
    ++line_;
    line(text, lines->complete());
  }
  return Done{};
}

void Verifier::line(std::string_view text, bool complete) {
  auto found = complete ? read_record(text) : std::nullopt;
  // A record that one file could not take is written again, whole, at the beginning of the next one.
  if (!cut_off_.empty()) {
    // Other text between the last record and it is not forgiven.
    if (found && line_ == 1 && is_all_cut_off() && text.substr(0, cut_off_.size()) == cut_off_) {
      forgive_region();
      end_region();
      note(0, fmt::format("the record on this line was begun in {} and could not be finished there", place_));
    }
    cut_off_.clear();
  }
  if (!found) return no_record(text, complete);
  if (in_region_ && is_mended(*found, text)) {
    forgive_region();
    note(found->seq, "a crash left a part of a record here; the next process has recorded that");
  }
  end_region();
  record(*found, text);
}

void Verifier::no_record(std::string_view text, bool complete) {
  if (!std::exchange(in_region_, true)) {
    findings_before_region_ = verdict_.findings.size();
    found_before_region_ = verdict_.found;
  }
  find(seq_ + 1, begun_ ? fmt::format("this is no record; record {} was to be here", seq_ + 1)
                        : std::string("this is no record of an audit log"));
  if (region_.size() + text.size() < kMaxRegion) {
    region_ += text;
    if (complete) region_ += '\n';
  } else {
    region_overflowed_ = true;
  }
  if (!complete) {
    cut_off_ = text;
    place_ = place();
  }
}

void Verifier::forgive_region() {
  verdict_.findings.resize(findings_before_region_);
  verdict_.found = found_before_region_;
}

void Verifier::end_region() {
  in_region_ = false;
  region_overflowed_ = false;
  region_.clear();
}

// Whether this record declares the text before it to be the rest of an unfinished record.
bool Verifier::is_mended(const Record& record, std::string_view text) {
  const bool follows = !begun_ || (record.seq == seq_ + 1 && record.prev == hash_);
  if (record.type != name(Kind::torn) || !record.whole || !follows || region_overflowed_) return false;
  const std::string told = json::string_value(json::member(text, "sha256"));
  std::string_view region = region_;
  if (told == sha256_hex(region)) return true;
  // The newline was added by the process that recorded it.
  if (region.empty() || region.back() != '\n') return false;
  region.remove_suffix(1);
  return told == sha256_hex(region);
}

void Verifier::record(const Record& record, std::string_view text) {
  ++verdict_.records;
  if (!record.whole)
    find(record.seq, fmt::format("record {} was changed: its hash is not that of its bytes", record.seq));
  if (!begun_) {
    verdict_.first = record.seq;
    if (record.seq == 1 && record.prev != kNoHash)
      find(record.seq, "record 1 is not the beginning of a chain");
    if (record.seq > 1 && record.type != name(Kind::open) && record.type != name(Kind::torn)) {
      find(record.seq, fmt::format("the beginning of this file was cut off in front of record {}: a file "
                                   "begins with a record `open`",
                                   record.seq));
      begins_within_a_file_ = verdict_.findings.size() == 1;
    }
    if (record.seq > 1)
      note(record.seq, fmt::format("the chain begins before these files: records 1 to {} are not looked at",
                                   record.seq - 1));
  } else if (record.seq > seq_ + 1) {
    find(seq_ + 1, record.seq == seq_ + 2 ? fmt::format("record {} is missing behind {}", seq_ + 1, place_)
                                          : fmt::format("records {} to {} are missing behind {}", seq_ + 1,
                                                        record.seq - 1, place_));
  } else if (record.seq <= seq_) {
    find(record.seq,
         fmt::format("record {} is here once more, or in the wrong place: record {} was to follow {}",
                     record.seq, seq_ + 1, place_));
  } else if (record.prev != hash_) {
    find(seq_, fmt::format("record {} is not the one that record {} was chained to: it was put in the place "
                           "of another one, or the chain was made anew from here on",
                           seq_, record.seq));
  }
  if (record.type == name(Kind::open)) {
    // Lines that the previous file could not take stand before this record.
    const bool moved_on = json::string_value(json::member(text, "after")) == "fault";
    if (std::exchange(begins_within_a_file_, false) && moved_on && verdict_.found == 1) {
      verdict_.findings.clear();
      verdict_.found = 0;
    }
    const std::string after = json::string_value(json::member(text, "after"));
    if (after == "crash") note(record.seq, "the process before this one did not close the log: it crashed");
    if (after == "fault") note(record.seq, "the file before this one could not be written to its end");
  }
  if (record.type == name(Kind::gap)) {
    note(record.seq, fmt::format("{} records were lost before this one: there was no room for them",
                                 json::member(text, "lost").value_or("some")));
  }
  ++verdict_.unsigned_records;
  end_signed_ = std::exchange(last_signed_, false) && closes_log(record);
  if (record.type == name(Kind::checkpoint)) signature(record, text);
  if (record.type == name(Kind::close) && !options_.keys.empty() && type_ != name(Kind::checkpoint))
    not_signed(record.seq);
  if (options_.known_seq == record.seq) {
    known_seen_ = true;
    if (options_.known_hash != record.hash)
      find(record.seq, fmt::format("record {} has another hash than the one that you know", record.seq));
  }
  begun_ = true;
  seq_ = record.seq;
  hash_ = record.hash;
  type_ = record.type;
  closed_ = closes_log(record);
  place_ = place();
}

void Verifier::signature(const Record& record, std::string_view text) {
  ++verdict_.checkpoints;
  if (options_.keys.empty()) return;
  const std::string id = json::string_value(json::member(text, "key"));
  const std::string signature = json::string_value(json::member(text, "signature"));
  const std::string end = json::string_value(json::member(text, "end"));
  bool known = false;
  for (const SigningKey& key : options_.keys) {
    known = known || key.id() == id;
    if (!key.has_signed(record.seq, record.prev, end, signature)) continue;
    verdict_.unsigned_records = 0;
    // It signs the whole chain before it, including files closed without a key.
    unsigned_closes_ = 0;
    unsigned_close_.reset();
    last_signed_ = end == kStop;
    return;
  }
  find(record.seq, known ? fmt::format("the signature of checkpoint {} does not fit: something before it is "
                                       "not what was signed",
                                       record.seq)
                         : fmt::format("checkpoint {} was signed with a key that you did not name ({})",
                                       record.seq, id.substr(0, 16)));
}

// Deferred: a log that got its key later is signed from there on, which is not a finding.
void Verifier::not_signed(uint64_t seq) {
  if (unsigned_closes_++ > 0) return;
  unsigned_close_ = Remark{file_, line_, seq, "the file was closed without a signed checkpoint before"};
  findings_before_close_ = verdict_.findings.size();
}

// Inserts the finding at its position in the chain.
void Verifier::find_not_signed() {
  if (!unsigned_close_) return;
  std::vector<Remark>& findings = verdict_.findings;
  if (unsigned_closes_ > 1)
    unsigned_close_->text += fmt::format("; later ones like it: {}", unsigned_closes_ - 1);
  ++verdict_.found;
  findings.insert(findings.begin() + static_cast<std::ptrdiff_t>(findings_before_close_),
                  std::move(*unsigned_close_));
  if (findings.size() > Verdict::kMaxRemarks) findings.pop_back();
}

Verdict Verifier::finish() {
  // The last line may be half of a record that is being written.
  if (!cut_off_.empty() && is_all_cut_off() && !options_.closed) forgive_region();
  find_not_signed();
  line_ = 0;
  verdict_.last = seq_;
  verdict_.last_hash = hash_;
  if (!begun_ && verdict_.found == 0) find(0, "there is no record");
  if (begun_ && !closed_) {
    const std::string_view how = type_ == name(Kind::close)
                                     ? "with the end of a file, and the next one is not here"
                                     : "without a closing record";
    if (options_.closed) {
      find(seq_ + 1,
           fmt::format("the log ends behind record {} {}: the end was cut off, or it is being written", seq_,
                       how));
    } else {
      note(seq_, fmt::format("the log ends behind record {} {}: it is being written, its process crashed, or "
                             "the end was cut off",
                             seq_, how));
    }
  }
  if (options_.closed && closed_ && !options_.keys.empty() && !end_signed_)
    find(seq_, "the end is not signed: it may have been cut off");
  if (!options_.keys.empty() && begun_ && verdict_.checkpoints == 0)
    find(verdict_.first, "no checkpoint is signed, with any key");
  if (options_.known_seq > 0 && !known_seen_)
    find(options_.known_seq,
         fmt::format("record {}, which you know, is not here: {}", options_.known_seq,
                     options_.known_seq > seq_ ? fmt::format("the log was cut off behind record {}", seq_)
                                               : std::string("it stands before these files, or is missing")));
  return std::move(verdict_);
}

// The number of the first record; files without one come last.
Result<uint64_t> first_of(const std::string& path) {
  auto lines = Lines::open(path);
  if (!lines) return Unexpected<Error>{lines.error()};
  std::string text;
  // A file with a damaged beginning is still sorted by its first readable record.
  while (lines->next(text)) {
    if (auto record = read_record(text)) return record->seq;
  }
  return UINT64_MAX;
}

}  // namespace

Result<Verdict> verify(const std::vector<std::string>& files, const VerifyOptions& options) {
  std::vector<std::pair<uint64_t, std::string>> ordered;
  for (const std::string& file : files) {
    auto first = first_of(file);
    if (!first) return Unexpected<Error>{first.error()};
    ordered.emplace_back(*first, file);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Verifier verifier(options);
  for (const auto& [first, file] : ordered) {
    if (auto read = verifier.read(file); !read) return Unexpected<Error>{read.error()};
  }
  return verifier.finish();
}

}  // namespace lineward::audit
