#include "proxy/audit/audit_log.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "foundation/base/memory_charge.h"
#include "foundation/log/log.h"
#include "proxy/audit/audit_file.h"
#include "proxy/audit/entry.h"
#include "proxy/audit/signing.h"

namespace lineward::audit {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Records are collected for this long before they are written: one wake-up for many records.
constexpr milliseconds kApart{20};
// The maximum time lost in a power failure, and the interval of retries.
constexpr milliseconds kTick{1000};
constexpr milliseconds kLastRecords{3000};
// A write that takes longer counts as a hanging disk.
constexpr milliseconds kHangs{2000};
// Lines are collected up to this size for one write.
constexpr size_t kPiece = 256 * 1024;

int64_t steady_ms() {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

struct AuditLog::Shared {
  Shared(const config::Audit& config, std::string its_version)
      : limits(config), version(std::move(its_version)), file(config.path) {}

  const config::Audit limits;
  const std::string version;

  // Guarded by the mutex.
  std::mutex mutex;
  std::condition_variable work, done;
  std::string waiting;
  MemoryCharge held;
  uint64_t lost_now = 0;  // since the last gap record
  int64_t lost_since = 0;
  bool asked_to_look = false;
  bool stop = false;
  bool ended = false;

  std::atomic<size_t> in_hand{0};  // bytes of the thread's batch
  std::atomic<uint64_t> records{0}, lost{0};
  // For is_on_record().
  std::atomic<bool> writable{true};      // as of the last write
  std::atomic<bool> at_capacity{false};  // the last record did not fit
  std::atomic<int64_t> busy_since{0};    // start of the current disk operation; 0: none

  // Used by the writer thread only.
  AuditFile file;
  HashChain chain;
  std::optional<SigningKey> key;
  std::string batch;
  std::string_view rest;  // of the batch, not chained yet
  std::string lines;
  uint64_t gap = 0;
  int64_t gap_since = 0;
  uint64_t in_file = 0;  // records of this file
  uint64_t unsigned_records = 0;
  steady_clock::time_point signed_at = steady_clock::now();
  steady_clock::time_point synced_at = steady_clock::now();
  bool dirty = false;
  uint64_t rotate_at = 0;
  std::string told;  // the last error that was logged

  Status<> begin();
  void run();
  void step();
  void chain_batch();
  bool put();
  void add(Kind kind, std::initializer_list<log::Field> fields);
  void seal(const std::string& body);
  void open_record(std::string_view why, std::string_view after);
  void close_record(std::string_view why);
  void sign(std::string_view end = {});
  void rotate();
  void look();
  void end();
  void take_batch();
  void tell_state();
  void tell_behind();
  bool is_on_record() const;
};

// ---- records ----

void AuditLog::Shared::seal(const std::string& body) {
  lines += chain.seal(body);
  ++in_file;
  ++unsigned_records;
}

void AuditLog::Shared::add(Kind kind, std::initializer_list<log::Field> fields) {
  seal(spell(kind, now_ms(), {fields.begin(), fields.size()}).body);
}

void AuditLog::Shared::open_record(std::string_view why, std::string_view after) {
  in_file = 0;
  add(Kind::open, {{"why", why},
                   {"after", after},
                   {"version", version},
                   {"pid", int64_t{::getpid()}},
                   {"key", key ? key->id() : std::string()}});
}

void AuditLog::Shared::close_record(std::string_view why) {
  // The end of the log always gets its own signature, even after a recent checkpoint.
  const std::string_view end = why == kStop ? why : std::string_view();
  if (key && (unsigned_records > 0 || !end.empty())) sign(end);
  add(Kind::close, {{"why", why}, {"records", in_file + 1}});
}

void AuditLog::Shared::sign(std::string_view end) {
  const std::string signature = key->sign(chain.seq() + 1, chain.hash(), end);
  add(Kind::checkpoint,
      {{"records", unsigned_records}, {"end", end}, {"key", key->id()}, {"signature", signature}});
  unsigned_records = 0;
  signed_at = steady_clock::now();
}

// ---- the thread ----

Status<> AuditLog::Shared::begin() {
  if (!limits.key_file.empty()) {
    auto read = SigningKey::read_private(limits.key_file);
    if (!read) return fail("audit.keyFile: " + read.error().text);
    key.emplace(std::move(*read));
  }
  auto found = file.open();
  if (!found) return fail("audit.path: " + found.error().text);
  chain = std::move(found->chain);
  rotate_at = limits.max_file_bytes;
  const bool fresh = found->last_type.empty();
  if (const std::string& torn = found->torn; !torn.empty())
    add(Kind::torn, {{"bytes", torn.size()}, {"sha256", sha256_hex(torn)}});
  open_record("start", fresh ? "nothing" : found->closed ? "close" : "crash");
  if (!put()) return fail("audit.path: " + file.fault());
  file.sync();
  busy_since = 0;
  return Done{};
}

bool AuditLog::Shared::put() {
  // Reset for each piece: a large batch must not look like a hanging disk.
  busy_since = steady_ms();
  if (lines.empty()) return file.flush();
  dirty = true;
  const bool written = file.write(lines);
  lines.clear();
  return written;
}

void AuditLog::Shared::rotate() {
  close_record("rotate");
  if (!put()) return;
  if (!file.rotate(limits.keep_files) && !file.pending())
    log::write_aside(log::Level::error, "audit", {{"error", file.fault()}});
  tell_behind();
  rotate_at = file.size() + limits.max_file_bytes;
  open_record("rotate", "close");
  put();
}

// Called when the name denotes another file or none: it was moved away. The current file is closed only when
// the new one is open.
void AuditLog::Shared::look() {
  if (!file.moved()) return file.found();
  if (!file.open_next()) return;
  // Lines that the old file could not take go to the new one.
  const bool whole = put();
  if (whole) {
    close_record("reopen");
    put();
  }
  file.take_next();
  tell_behind();
  rotate_at = limits.max_file_bytes;
  open_record("reopen", whole ? "close" : "fault");
  put();
}

// Chains records until the file stops accepting them.
void AuditLog::Shared::chain_batch() {
  while (!rest.empty()) {
    seal(spell_next(rest).body);
    if (key && unsigned_records >= limits.checkpoint_records) sign();
    if (file.size() + lines.size() >= rotate_at) {
      if (!put()) return;
      rotate();
      if (file.pending()) return;
    } else if (lines.size() >= kPiece && !put()) {
      return;
    }
  }
  if (gap > 0) {
    add(Kind::gap, {{"lost", std::exchange(gap, 0)}, {"since", spelled_time(gap_since)}});
  }
  const auto now = steady_clock::now();
  if (key && unsigned_records > 0 && now - signed_at >= limits.checkpoint_every) sign();
  if (!put()) return;
  if (dirty && now - synced_at >= kTick) {
    dirty = !file.sync();
    synced_at = now;
  }
}

void AuditLog::Shared::step() {
  busy_since = steady_ms();
  look();
  if (put()) chain_batch();
  in_hand = rest.size();
  tell_state();
  const int64_t took = steady_ms() - busy_since.exchange(0);
  if (took >= kHangs.count())
    log::write_aside(log::Level::warn, "audit",
                     {{"state", "the disk did not come back"}, {"after_ms", took}});
}

// Whether actions from now on will be recorded. The only place that decides this, for refuses() and the
// metric.
bool AuditLog::Shared::is_on_record() const {
  if (!writable.load(std::memory_order_relaxed) || at_capacity.load(std::memory_order_relaxed)) return false;
  const int64_t since = busy_since.load(std::memory_order_relaxed);
  return since == 0 || steady_ms() - since < kHangs.count();
}

void AuditLog::Shared::tell_state() {
  const std::string& fault = file.fault();
  writable = fault.empty() && !file.pending();
  if (fault == told) return;
  told = fault;
  if (fault.empty()) {
    log::write_aside(log::Level::warn, "audit", {{"state", "written again"}});
  } else {
    log::write_aside(log::Level::error, "audit",
                     {{"error", fault},
                      {"then", limits.on_error == config::AuditError::refuse
                                   ? "calls are refused (audit.onError)"
                                   : "calls go on; what finds no room is lost (audit.onError)"}});
  }
}

// The error of a closed file: it cannot be repaired later.
void AuditLog::Shared::tell_behind() {
  if (const std::string why = file.take_behind(); !why.empty())
    log::write_aside(log::Level::error, "audit",
                     {{"error", why}, {"then", "its last records may be lost with the power"}});
}

void AuditLog::Shared::end() {
  // The last attempt may have failed and this one succeed. Then unchained and queued records are written
  // before the closing record.
  if (put() && !rest.empty()) chain_batch();
  if (!file.pending()) {
    {
      std::lock_guard lock(mutex);
      take_batch();
    }
    if (!rest.empty() || gap > 0) chain_batch();
  }
  if (file.pending()) {
    // No thread remains to retry.
    log::write_aside(
        log::Level::error, "audit",
        {{"error", file.fault()},
         {"then", "the process ends: the records that waited are lost, and the log is not closed"}});
    return;
  }
  close_record(kStop);
  if (put()) {
    // Logged before the flush to disk: a slow disk may outlast the shutdown. If power fails in between, this
    // line shows what is missing.
    log::write_aside(log::Level::info, "audit.closed",
                     {{"path", limits.path}, {"seq", chain.seq()}, {"hash", chain.hash()}});
    file.sync();
  }
  tell_state();
}

// Call with the mutex held.
void AuditLog::Shared::take_batch() {
  if (!rest.empty()) return;
  batch.clear();
  batch.swap(waiting);
  rest = batch;
  in_hand = rest.size();
  if (lost_now > 0) {
    gap_since = gap == 0 ? lost_since : gap_since;
    gap += std::exchange(lost_now, 0);
  }
}

void AuditLog::Shared::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock lock(mutex);
  for (;;) {
    work.wait_for(lock, kTick, [this] { return stop || asked_to_look || !waiting.empty(); });
    asked_to_look = false;
    const bool last = stop;
    take_batch();
    lock.unlock();
    step();
    lock.lock();
    held.set(waiting.size() + in_hand);
    // Reset here: while calls are refused, hardly any record arrives that would reset it.
    if (waiting.size() + in_hand <= limits.max_waiting_bytes / 2) at_capacity = false;
    if (last && (file.pending() || (rest.empty() && waiting.empty()))) {
      lock.unlock();
      end();
      // After the end is signalled, the same file may be opened again at once.
      file.close();
      lock.lock();
      held.set(0);
      ended = true;
      done.notify_all();
      return;
    }
    // Records arriving meanwhile are written together. Failed writes are not retried at once.
    if (!stop) work.wait_for(lock, file.pending() ? kTick : kApart, [this] { return stop; });
  }
}

// ---- the trail ----

Result<std::shared_ptr<AuditLog>> AuditLog::open(const config::Audit& config, const std::string& version) {
  auto shared = std::make_shared<Shared>(config, version);
  if (auto begun = shared->begin(); !begun) return Unexpected<Error>{begun.error()};
  std::thread writer([shared] { shared->run(); });
  return std::shared_ptr<AuditLog>(new AuditLog(config, std::move(shared), std::move(writer)));
}

AuditLog::~AuditLog() {
  std::unique_lock lock(shared_->mutex);
  shared_->stop = true;
  shared_->work.notify_one();
  const bool ended = shared_->done.wait_for(lock, kLastRecords, [this] { return shared_->ended; });
  lock.unlock();
  // A thread blocked on the disk keeps its data and is detached. Otherwise it is joined: OpenSSL's
  // thread-local data must be freed before the process ends.
  if (ended) {
    writer_.join();
  } else {
    writer_.detach();
  }
}

void AuditLog::take(Kind kind, Fields fields) {
  thread_local std::string packed;
  packed.clear();
  const int64_t time = now_ms();
  pack(packed, kind, time, fields);
  std::lock_guard lock(shared_->mutex);
  const size_t held = shared_->waiting.size() + shared_->in_hand.load(std::memory_order_relaxed);
  if (held + packed.size() > config_.max_waiting_bytes) {
    if (shared_->lost_now++ == 0) shared_->lost_since = time;
    ++shared_->lost;
    shared_->at_capacity = true;
    return;
  }
  shared_->at_capacity.store(false, std::memory_order_relaxed);
  const bool first = shared_->waiting.empty();
  shared_->waiting += packed;
  shared_->held.set(held + packed.size());
  ++shared_->records;
  if (first) shared_->work.notify_one();
}

void AuditLog::reopen() {
  std::lock_guard lock(shared_->mutex);
  shared_->asked_to_look = true;
  shared_->work.notify_one();
}

bool AuditLog::refuses() const {
  return config_.on_error == config::AuditError::refuse && !shared_->is_on_record();
}

Counts AuditLog::counts() const {
  return {shared_->records.load(), shared_->lost.load(), shared_->is_on_record()};
}

}  // namespace lineward::audit
