#include "proxy/audit/audit_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <optional>
#include <thread>

#include "foundation/log/peer_rates.h"
#include "foundation/log/redaction.h"
#include "foundation/log/tap.h"
#include "unit/proxy/audit/audit_folder.h"

using namespace lineward;
using namespace lineward::audit;

namespace {

struct Open {
  explicit Open(const Folder& folder) { config.path = folder.file("audit.jsonl"); }
  void begin() {
    auto opened = AuditLog::open(config, "1.0");
    INFO((opened ? std::string() : opened.error().text));
    REQUIRE(opened);
    trail = std::move(*opened);
    use(trail);
  }
  void end() {
    use(nullptr);
    trail.reset();
  }
  ~Open() { end(); }
  std::vector<std::string> files() const { return files_of(config.path); }
  std::string text() const {
    std::string out;
    for (const std::string& file : files())
      out += read_text(file);
    return out;
  }
  config::Audit config;
  std::shared_ptr<AuditLog> trail;
};

void call(int number) {
  record(Kind::call, {{"call", fmt::format("c{}", number)}, {"target", "search"}, {"end", "ok"}});
}

VerifyOptions strictly(const std::string& key = {}) {
  VerifyOptions options;
  options.closed = true;
  if (!key.empty()) options.keys.push_back(std::move(*SigningKey::read_public(key)));
  return options;
}

size_t occurrences(const std::string& text, const std::string& what) {
  size_t out = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++out;
  return out;
}

// Files of this process that are larger than this cannot be written, as on a full disk.
struct FullDisk {
  explicit FullDisk(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit now{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() { end(); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  void end() const { ::setrlimit(RLIMIT_FSIZE, &before); }
  rlimit before{};
};

// The audit log's events about itself, on its own thread.
struct Heard : log::Tap {
  explicit Heard(std::function<void(log::Level, const std::string& error)> what) : then(std::move(what)) {}
  void told(log::Level level, std::string_view event, std::initializer_list<log::Field> fields,
            std::string_view) override {
    if (event != "audit") return;
    std::string error;
    for (const log::Field& field : fields)
      if (field.key == "error") error = field.text;
    then(level, error);
  }
  std::function<void(log::Level, const std::string& error)> then;
};
struct Hearing {
  explicit Hearing(std::function<void(log::Level, const std::string& error)> then)
      : tap(std::make_shared<Heard>(std::move(then))) {
    log::configure(log::Format::logfmt, log::Level::off, false);
    log::add_tap(tap, log::Wants::warnings);
  }
  ~Hearing() { log::end_tap(*tap); }
  std::shared_ptr<Heard> tap;
};

// The behaviour of the disk for files of such a name.
struct Disk {
  std::atomic<bool> hangs{false}, is_waited_for{false};
  std::atomic<const char*> fails_for{nullptr};
};
Disk& disk() {
  static Disk the;
  return the;
}

struct HangingDisk {
  HangingDisk() {
    disk().is_waited_for = false;
    disk().hangs = true;
  }
  ~HangingDisk() { end(); }
  HangingDisk(const HangingDisk&) = delete;
  HangingDisk& operator=(const HangingDisk&) = delete;
  void end() const { disk().hangs = false; }
};

template <class Look>
bool eventually(Look&& look) {
  for (int i = 0; i < 2000; ++i) {
    if (look()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

// In place of that of the C library, in this program.
extern "C" int fdatasync(int fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  std::error_code ignored;
  const std::string name = std::filesystem::read_symlink(link, ignored).string();
  if (name.find("/audit.jsonl") == std::string::npos) return static_cast<int>(::syscall(SYS_fdatasync, fd));
  while (disk().hangs) {
    disk().is_waited_for = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const char* ending = disk().fails_for;
  if (ending == nullptr || !name.ends_with(ending)) return static_cast<int>(::syscall(SYS_fdatasync, fd));
  errno = EIO;
  return -1;
}

TEST_CASE("without a trail nothing is recorded, and no request is refused") {
  CHECK_FALSE(active());
  record(Kind::call, {{"call", "c1"}});
  CHECK(recorded_arguments("{}").empty());
  CHECK(refusal().empty());
  CHECK(counts().records == 0);
}

TEST_CASE("records of many threads make one chain, and the next process goes on with it") {
  Folder folder;
  Open log(folder);
  for (int run = 0; run < 2; ++run) {
    log.begin();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([] {
        for (int i = 0; i < 500; ++i)
          call(i);
      });
    for (std::thread& thread : threads)
      thread.join();
    CHECK(counts().records == 2000);
    log.end();
  }
  struct stat info {};
  REQUIRE(::stat(log.config.path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0137) == 0);
  Verdict verdict = verified(log.files(), strictly());
  CHECK(verdict.whole());
  CHECK(verdict.records == 4000 + 4);
  CHECK(verdict.notes.empty());
  CHECK(occurrences(log.text(), R"("after":"close")") == 1);
}

TEST_CASE("full files get a name of their own, the chain goes on, and the oldest go") {
  Folder folder;
  make_key(folder.file("key"));
  Open log(folder);
  log.config.max_file_bytes = 16 * 1024;
  log.config.keep_files = 0;
  log.config.key_file = folder.file("key");
  log.config.checkpoint_records = 10;
  log.begin();
  for (int i = 0; i < 500; ++i)
    call(i);
  log.end();
  const std::vector<std::string> files = log.files();
  REQUIRE(files.size() > 5);
  for (const std::string& file : files)
    CHECK(std::filesystem::file_size(file) < 16 * 1024 + 2048);
  CHECK(files.front() == log.config.path + ".000000000001");
  Verdict verdict = verified(files, strictly(folder.file("key.pub")));
  CHECK(verdict.whole());
  CHECK(verdict.checkpoints >= 50);
  CHECK(verdict.unsigned_records == 1);  // the closing record
  // The last record of a file closes it, the first one of the next names its hash.
  for (size_t i = 0; i + 1 < files.size(); ++i) {
    const std::string last_line = lines_of(read_text(files[i])).back();
    auto last = read_record(last_line);
    const std::string next_line = lines_of(read_text(files[i + 1])).front();
    auto next = read_record(next_line);
    REQUIRE((last && next));
    CHECK(last->type == "close");
    CHECK(next->type == "open");
    CHECK(next->prev == last->hash);
  }
  log.config.keep_files = 3;
  log.begin();
  for (int i = 0; i < 200; ++i)
    call(i);
  log.end();
  CHECK(log.files().size() == 4);
  Verdict later = verified(log.files(), strictly(folder.file("key.pub")));
  CHECK(later.whole());
  CHECK(later.notes.size() == 1);
}

TEST_CASE("what others have named after the log with digits is no full file: it pushes none out") {
  Folder folder;
  Open log(folder);
  log.config.max_file_bytes = 4096;
  log.config.keep_files = 2;
  std::vector<std::string> others;
  for (const char* ending : {"20261125041200", "202611250412", "202611250413", "202611250414", "202611250415",
                             "20261125-0412", "000000000001-2-3", "000000000001-"}) {
    others.push_back(log.config.path + "." + ending);
    write_text(others.back(), "");
  }
  log.begin();
  for (int i = 0; i < 100; ++i)
    call(i);
  log.end();
  for (const std::string& other : others)
    CHECK(std::filesystem::exists(other));
  const std::vector<std::string> full = full_files(log.config.path, 1000);
  REQUIRE(full.size() == 2);
  CHECK(verified({full[0], full[1], log.config.path}, strictly()).whole());

  // They do not hide the end of the chain either, for any content.
  std::filesystem::rename(log.config.path, folder.file("away"));
  for (const std::string& other : others)
    write_text(other, "what another program wrote\n");
  log.begin();
  log.end();
  const std::string line = lines_of(read_text(log.config.path)).front();
  const std::string last_line = lines_of(read_text(full[1])).back();
  CHECK(read_record(line)->seq == read_record(last_line)->seq + 1);
}

TEST_CASE("full files are put in the order of their numbers") {
  Folder folder;
  const std::string path = folder.file("audit.jsonl");
  const std::vector<std::string> in_order{path + ".000000000001", path + ".000000000001-2",
                                          path + ".000000000001-10", path + ".000000000007"};
  for (const std::string& name : in_order)
    write_text(name, "");
  CHECK(full_files(path) == in_order);
  CHECK(full_files(path, 6).size() == 3);
}

TEST_CASE("a file that is moved away is closed, and another one goes on") {
  Folder folder;
  Open log(folder);
  log.begin();
  call(1);
  REQUIRE(eventually([&] { return occurrences(log.text(), "\"call\":\"c1\"") == 1; }));
  const std::string away = folder.file("moved");
  std::filesystem::rename(log.config.path, away);
  log.trail->reopen();
  REQUIRE(eventually([&] { return std::filesystem::exists(log.config.path); }));
  call(2);
  log.end();
  CHECK(occurrences(read_text(away), R"("why":"reopen")") == 1);
  CHECK(occurrences(read_text(log.config.path), "\"call\":\"c2\"") == 1);
  Verdict verdict = verified({log.config.path, away}, strictly());
  CHECK(verdict.whole());
}

TEST_CASE("a log that ends behind a checkpoint is signed once more, as one that has ended") {
  Folder folder;
  make_key(folder.file("key"));
  Open log(folder);
  log.config.key_file = folder.file("key");
  log.config.checkpoint_records = 1;
  for (int run = 0; run < 2; ++run) {
    log.begin();
    call(run);
    log.end();
    CHECK(verified(log.files(), strictly(folder.file("key.pub"))).whole());
  }
  CHECK(occurrences(log.text(), R"("end":"stop","key":)") == 2);
}

TEST_CASE("a process that is killed between a full file and the next one has crashed") {
  Folder folder;
  for (const std::string why : {"rotate", "reopen", "stop"}) {
    Open log(folder);
    for (const std::string& file : log.files())
      std::filesystem::remove(file);
    log.config.max_file_bytes = 4096;
    log.begin();
    for (int i = 0; i < 40; ++i)
      call(i);
    log.end();
    const std::string full = full_files(log.config.path).front();
    for (const std::string& file : log.files())
      if (file != full) std::filesystem::remove(file);
    // As it is at that moment; or with all steps done: there is only a moved file.
    std::vector<std::string> lines = lines_of(read_text(full));
    REQUIRE(occurrences(lines.back(), R"("why":"rotate")") == 1);
    const auto last = read_record(lines.back());
    HashChain chain(last->seq - 1, std::string(last->prev));
    lines.back() = chain.seal(spell(Kind::close, 1700000000000, std::vector<log::Field>{{"why", why}}).body);
    lines.back().pop_back();
    write_text(full, text_of(lines));
    INFO(why);
    CHECK(verified({full}).whole());
    CHECK(verified({full}, strictly()).whole() == (why == "stop"));
    log.begin();
    log.end();
    Verdict verdict = verified(log.files(), strictly());
    CHECK(verdict.whole());
    CHECK(occurrences(log.text(), R"("after":"crash")") == (why == "stop" ? 0 : 1));
    CHECK(verdict.notes.size() == (why == "stop" ? 0 : 1));
  }
}

TEST_CASE("what a crash left is recorded, and the chain goes on behind the last whole record") {
  Folder folder;
  for (const std::string& rest : {std::string(R"({"seq":4,"time":"20)"), std::string("\0\0\0\0", 4),
                                  std::string("half\nanother\n"), std::string("half\nanother")}) {
    Open log(folder);
    std::filesystem::remove(log.config.path);
    log.begin();
    call(1);
    log.end();
    // As if it had been killed: no closing record, and the beginning of the next one.
    std::vector<std::string> lines = lines_of(read_text(log.config.path));
    lines.pop_back();
    write_text(log.config.path, text_of(lines) + rest);
    CHECK(verified({log.config.path}).whole() == (rest.find('\n') == std::string::npos));
    log.begin();
    call(2);
    log.end();
    INFO(log.text());
    Verdict verdict = verified({log.config.path}, strictly());
    CHECK(verdict.whole());
    CHECK(verdict.notes.size() == 2);  // the rest, and the crash
    CHECK(occurrences(log.text(), R"("after":"crash")") == 1);
    // A torn record is chained too.
    std::string changed = read_text(log.config.path);
    changed[changed.find(rest)] ^= 2;
    write_text(log.config.path, changed);
    CHECK_FALSE(verified({log.config.path}, strictly()).whole());
  }
}

TEST_CASE("what a crash left in a file that was renamed before the next start is recorded in the next file") {
  const std::string torn = GENERATE(std::string(R"({"seq":3,"ti)"), std::string("\0\0\0\0", 4),
                                    std::string("half\nanother\n"), std::string("half\nanother"));
  // The next file may have been begun, and torn as well.
  const std::string begun = GENERATE(std::string(), std::string(R"({"seq":)"), std::string(20, '\0'));
  Folder folder;
  Open log(folder);
  const std::string renamed = log.config.path + GENERATE(".1", ".000000000001");
  log.begin();
  call(1);
  log.end();
  std::vector<std::string> lines = lines_of(read_text(log.config.path));
  lines.pop_back();
  write_text(renamed, text_of(lines) + torn);
  std::filesystem::remove(log.config.path);
  if (!begun.empty()) write_text(log.config.path, begun);
  log.begin();
  call(2);
  log.end();
  Verdict verdict = verified({renamed, log.config.path}, strictly());
  for (const Remark& one : verdict.findings)
    UNSCOPED_INFO(one.text);
  CHECK(verdict.whole());
  CHECK(occurrences(read_text(log.config.path), R"("type":"torn","bytes":)") == 1);
  CHECK(occurrences(read_text(log.config.path), R"("after":"crash")") == 1);
  // And nothing more than that is forgiven.
  write_text(renamed, text_of(lines) + torn + "x");
  CHECK_FALSE(verified({renamed, log.config.path}, strictly()).whole());
}

TEST_CASE("the chain goes on in the newest full file where the file itself is not there") {
  Folder folder;
  Open log(folder);
  log.begin();
  call(1);
  log.end();
  std::filesystem::rename(log.config.path, log.config.path + ".000000000001");
  log.begin();
  log.end();
  CHECK(verified(log.files(), strictly()).whole());
  CHECK(log.files().size() == 2);
}

TEST_CASE("what is no audit log, is a folder, or belongs to another process is not written to") {
  Folder folder;
  Open log(folder);
  write_text(log.config.path, "a letter to the editor\n");
  CHECK_FALSE(AuditLog::open(log.config, "1"));
  CHECK(read_text(log.config.path) == "a letter to the editor\n");
  std::filesystem::remove(log.config.path);
  std::filesystem::create_directory(log.config.path);
  CHECK_FALSE(AuditLog::open(log.config, "1"));
  std::filesystem::remove(log.config.path);
  log.begin();
  auto second = AuditLog::open(log.config, "1");
  REQUIRE_FALSE(second);
  CHECK(second.error().text.find("another process") != std::string::npos);
  log.end();
  log.config.key_file = folder.file("nokey");
  CHECK_FALSE(AuditLog::open(log.config, "1"));
  log.config.key_file.clear();
  log.config.path = folder.file("none/audit.jsonl");
  CHECK_FALSE(AuditLog::open(log.config, "1"));
}

TEST_CASE("a disk that is full loses nothing while there is room, then says how many it lost") {
  Folder folder;
  for (auto on_error : {config::AuditError::proceed, config::AuditError::refuse}) {
    Open log(folder);
    std::filesystem::remove(log.config.path);
    log.config.max_waiting_bytes = 64 * 1024;
    log.config.on_error = on_error;
    log.begin();
    {
      FullDisk full(4 * 1024);
      for (int i = 0; i < 100; ++i)
        call(i);
      REQUIRE(eventually([] { return !counts().writable; }));
      CHECK(refusal().empty() == (on_error == config::AuditError::proceed));
      for (int i = 0; i < 3000; ++i)
        call(i);
      CHECK(counts().lost > 0);
    }
    REQUIRE(eventually([] { return counts().writable; }));
    CHECK(refusal().empty());
    const Counts at_the_end = counts();
    log.end();
    const std::string text = log.text();
    CHECK(occurrences(text, "\"type\":\"call\"") == at_the_end.records);
    CHECK(occurrences(text, fmt::format(R"("type":"gap","lost":{})", at_the_end.lost)) == 1);
    Verdict verdict = verified(log.files(), strictly());
    CHECK(verdict.whole());
    CHECK(verdict.notes.size() == 1);
  }
}

TEST_CASE("a process that ends while its log cannot be written says that what waited is lost") {
  log::configure(log::Format::logfmt, log::Level::error, false);
  Folder folder;
  Open log(folder);
  log.begin();
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const int stderr_before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
  bool full_seen = false;
  {
    FullDisk full(4 * 1024);
    for (int i = 0; i < 100; ++i)
      call(i);
    full_seen = eventually([] { return !counts().writable; });
    log.end();
  }
  ::dup2(stderr_before, STDERR_FILENO);  // which ends the pipe
  ::close(stderr_before);
  std::string said(16 * 1024, '\0');
  const ssize_t size = ::read(ends[0], said.data(), said.size());
  ::close(ends[0]);
  said.resize(size > 0 ? static_cast<size_t>(size) : 0);
  CHECK(full_seen);
  CHECK(said.find("the records that waited are lost, and the log is not closed") != std::string::npos);
}

TEST_CASE("a disk that takes at the end what it did not take a moment before gets all of it") {
  Folder folder;
  std::optional<FullDisk> full;
  std::atomic<bool> full_at_the_end{false}, is_again{false}, ending{false};
  Open log(folder);
  const Hearing hearing([&](log::Level level, const std::string&) {
    if (level == log::Level::error && full_at_the_end) return full->end();
    if (level != log::Level::warn) return;
    // "Written again": its thread goes on when it has been told to stop.
    is_again = true;
    eventually([&] { return ending.load(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  log.begin();
  full.emplace(rlim_t{4 * 1024});
  for (int i = 0; i < 100; ++i)
    call(i);
  const bool was_full = eventually([] { return !counts().writable; });
  full.reset();
  const bool went_on = eventually([&] { return is_again.load(); });
  full.emplace(std::filesystem::file_size(log.config.path) + 1024);
  full_at_the_end = true;
  // More than is handed to the kernel at once.
  for (int i = 0; i < 5000; ++i)
    call(i);
  const uint64_t taken = counts().records;
  ending = true;
  log.end();
  full.reset();
  CHECK((was_full && went_on));
  CHECK(occurrences(log.text(), "\"type\":\"call\"") == taken);
  CHECK(verified(log.files(), strictly()).whole());
}

TEST_CASE("a disk that hangs is one that cannot be written") {
  Folder folder;
  Open log(folder);
  log.config.on_error = config::AuditError::refuse;
  log.begin();
  const HangingDisk hanging;
  CHECK(refusal().empty());
  call(1);
  CHECK(eventually([] { return disk().is_waited_for.load(); }));
  CHECK(counts().writable);  // a disk that is slow for a moment is none
  CHECK(refusal().empty());
  CHECK(eventually([] { return !counts().writable; }));
  CHECK_FALSE(refusal().empty());
  hanging.end();
  CHECK(eventually([] { return counts().writable; }));
  CHECK(refusal().empty());
  log.end();
  CHECK(verified(log.files(), strictly()).whole());
}

TEST_CASE("a caller that may not act unrecorded is refused while records find no room") {
  Folder folder;
  Open log(folder);
  log.config.on_error = config::AuditError::refuse;
  log.config.max_waiting_bytes = 16 * 1024;
  log.begin();
  const HangingDisk hanging;
  call(0);
  CHECK(eventually([] { return disk().is_waited_for.load(); }));
  for (int i = 0; i < 5000 && counts().lost == 0; ++i)
    call(i);
  CHECK(counts().lost > 0);
  CHECK_FALSE(refusal().empty());
  CHECK_FALSE(counts().writable);
  hanging.end();
  CHECK(eventually([] { return counts().writable; }));
  CHECK(refusal().empty());
  log.end();
  CHECK(occurrences(log.text(), R"("type":"gap")") == 1);
}

TEST_CASE("a full file that may not be on the disk is told, though the next one is") {
  Folder folder;
  std::atomic<int> told{0};
  Open log(folder);
  log.config.max_file_bytes = 4096;
  const std::string name = log.config.path + ".000000000001";
  const Hearing hearing([&](log::Level level, const std::string& error) {
    if (level == log::Level::error && error.find("to the disk " + name) != std::string::npos) ++told;
  });
  disk().fails_for = ".000000000001";
  log.begin();
  for (int i = 0; i < 40; ++i)
    call(i);
  log.end();
  disk().fails_for = nullptr;
  CHECK(told == 1);
  CHECK(full_files(log.config.path).size() > 1);
}

TEST_CASE("a record that one file could not take to its end stands whole in the next one") {
  Folder folder;
  Open log(folder);
  log.begin();
  const std::string away = folder.file("moved");
  call(0);
  REQUIRE(eventually(
      [&] { return occurrences(log.text(), "\"call\":\"c0\"") == 1 && log.text().back() == '\n'; }));
  {
    // In the middle of the next record: whole ones might fill it to the byte.
    FullDisk full(log.text().size() + 50);
    for (int i = 1; i < 30; ++i)
      call(i);
    REQUIRE(eventually([] { return !counts().writable; }));
    std::filesystem::rename(log.config.path, away);
    log.trail->reopen();
    // The next file has something: the writer has done with the one before, while that was full.
    REQUIRE(eventually([&] { return !read_text(log.config.path).empty(); }));
  }
  log.end();
  const std::vector<std::string> both{away, log.config.path};
  CHECK(read_text(away).back() != '\n');
  Verdict verdict = verified(both, strictly());
  for (const Remark& one : verdict.findings)
    UNSCOPED_INFO(one.text);
  CHECK(verdict.whole());
  CHECK(occurrences(read_text(away) + read_text(log.config.path), "\"call\":\"c29\"") == 1);
}

TEST_CASE("texts are redacted before they are cut, arguments only where they are wanted") {
  Folder folder;
  Open log(folder);
  log.config.arguments = true;
  log.config.argument_bytes = 40;
  log.begin();
  auto rule = redaction::add([](std::string_view text) {
    std::string out(text);
    for (size_t at = out.find("s3cr3t"); at != std::string::npos; at = out.find("s3cr3t"))
      out.replace(at, 6, "[x]");
    return out;
  });
  record(
      Kind::call,
      {{"target", "uri?token=s3cr3t"},
       {"why", std::string(kMaxText - 8, 'y') + "s3cr3t"},
       {"arguments", recorded_arguments(R"({ "a" : "s3cr3t", "long": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx" })")}});
  log.end();
  rule.reset();
  const std::string text = log.text();
  CHECK(text.find("s3c") == std::string::npos);
  CHECK(text.find("uri?token=[x]") != std::string::npos);
  CHECK(text.find(R"("arguments":"{\"a\":\"[x]\",\"long\":\"xxxxxxxxxxxxxxxxxx...")") != std::string::npos);
}

// Not run by default: unit_audit "[!benchmark]", in a build for release.
TEST_CASE("what takes the place of the log and is none stops it, and loses nothing") {
  Folder folder;
  Open log(folder);
  log.config.on_error = config::AuditError::refuse;
  const std::string moved = folder.file("moved"), path = log.config.path;
  log.begin();
  call(1);
  REQUIRE(eventually([&] { return occurrences(read_text(path), "\"c1\"") == 1; }));
  std::filesystem::rename(path, moved);
  std::filesystem::create_directory(path);
  log.trail->reopen();
  REQUIRE(eventually([&] { return !counts().writable; }));
  CHECK_FALSE(refusal().empty());
  call(2);
  CHECK(occurrences(read_text(moved), "\"close\"") == 0);
  CHECK(occurrences(read_text(moved), "\"c2\"") == 0);
  std::filesystem::remove(path);
  log.trail->reopen();
  REQUIRE(eventually([&] { return counts().writable; }));
  CHECK(refusal().empty());
  log.end();
  CHECK(occurrences(read_text(moved), "\"close\"") == 1);
  CHECK(occurrences(read_text(path), "\"c2\"") == 1);
  const Verdict verdict = verified({moved, path}, strictly());
  CHECK(verdict.found == 0);
}

TEST_CASE("a log that comes back to its place goes on") {
  Folder folder;
  Open log(folder);
  const std::string moved = folder.file("moved"), path = log.config.path;
  log.begin();
  call(1);
  // In one step: it makes a new file as soon as it sees that there is none.
  std::filesystem::create_directory(moved);
  REQUIRE(renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, moved.c_str(), RENAME_EXCHANGE) == 0);
  log.trail->reopen();
  REQUIRE(eventually([&] { return !counts().writable; }));
  REQUIRE(renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, moved.c_str(), RENAME_EXCHANGE) == 0);
  log.trail->reopen();
  REQUIRE(eventually([&] { return counts().writable; }));
  call(2);
  log.end();
  CHECK(occurrences(read_text(path), "\"close\"") == 1);
  CHECK(verified({path}, strictly()).found == 0);
}

TEST_CASE(
    "a first record that was never written whole is recorded, and the chain goes on behind the file before") {
  const std::string torn =
      GENERATE(std::string(R"({"seq":1,"time":"2026)"), std::string(70, '\0'), std::string("{"));
  const bool first = GENERATE(true, false);
  {
    Folder folder;
    Open log(folder);
    if (!first) {
      log.begin();
      call(1);
      log.end();
      std::filesystem::rename(log.config.path, log.config.path + ".000000000001");
    }
    write_text(log.config.path, torn);
    log.begin();
    call(2);
    log.end();
    const Verdict verdict = verified(log.files(), strictly());
    CHECK(verdict.found == 0);
    CHECK(verdict.first == 1);
    CHECK(occurrences(log.text(), "\"torn\"") == 1);
  }
  Folder folder;
  Open log(folder);
  write_text(log.config.path, "these are words");
  CHECK_FALSE(AuditLog::open(log.config, "1.0"));
}

TEST_CASE("a log behind a symbolic link is the file that it leads to, and full ones stand beside that") {
  const bool there = GENERATE(true, false);
  Folder folder;
  Open log(folder);
  std::filesystem::create_directory(folder.file("disk"));
  const std::string target = folder.file("disk/log.jsonl");
  // A chain of links, one of them relative to its own folder.
  std::filesystem::create_symlink("disk/link", log.config.path);
  std::filesystem::create_symlink(target, folder.file("disk/link"));
  if (there) write_text(target, "");
  log.config.max_file_bytes = 4096;
  log.begin();
  for (int i = 0; i < 40; ++i)
    call(i);
  log.end();
  log.begin();
  log.end();
  CHECK(std::filesystem::is_symlink(log.config.path));
  CHECK(std::filesystem::is_symlink(folder.file("disk/link")));
  CHECK(full_files(log.config.path).empty());
  CHECK(std::filesystem::is_regular_file(target));
  CHECK(full_files(target).size() > 1);
  CHECK(verified(files_of(target), strictly()).whole());

  Folder circle;
  Open endless(circle);
  std::filesystem::create_symlink(endless.config.path, endless.config.path);
  CHECK_FALSE(AuditLog::open(endless.config, "1.0"));
}

TEST_CASE("a file that was put in the place of the log and is not empty goes on behind its last line") {
  Folder folder;
  Open log(folder);
  log.config.max_file_bytes = 4096;
  const std::string path = log.config.path, moved = folder.file("moved");
  // An older file of the log, cut in the middle of a record.
  log.begin();
  for (int i = 0; i < 5; ++i)
    call(i);
  log.end();
  const std::vector<std::string> old = lines_of(read_text(path));
  REQUIRE(old.size() == 7);
  const std::string half = old[4].substr(0, 40);
  log.begin();
  REQUIRE(eventually([&] { return occurrences(read_text(path), R"("type":"open")") == 2; }));
  const std::string other = folder.file("other");
  write_text(other, old[2] + "\n" + old[3] + "\n" + half);
  // In one step: it makes a new file as soon as it sees that there is none.
  std::filesystem::create_hard_link(path, moved);
  std::filesystem::rename(other, path);
  log.trail->reopen();
  REQUIRE(eventually([&] { return occurrences(read_text(path), R"("why":"reopen")") == 1; }));
  for (int i = 0; i < 40; ++i)
    call(i);
  log.end();
  const std::vector<std::string> full = full_files(path);
  REQUIRE_FALSE(full.empty());
  // It has the name of the record that it begins with, and that which follows the half one is whole.
  CHECK(full.front() == path + ".000000000003");
  const std::vector<std::string> lines = lines_of(read_text(full.front()));
  CHECK(lines[2] == half);
  CHECK(read_record(lines[3])->type == "open");
}

TEST_CASE("a log that was moved away under any name while nothing ran goes on") {
  for (const char* name : {"audit.jsonl.1", "audit.jsonl-20261125"}) {
    Folder folder;
    Open log(folder);
    log.begin();
    call(1);
    log.end();
    std::filesystem::rename(log.config.path, folder.file(name));
    write_text(folder.file("audit.jsonl.sums"), "no audit log\n");
    log.begin();
    call(2);
    log.end();
    CHECK(verified({folder.file(name), log.config.path}, strictly()).found == 0);
  }
}

TEST_CASE("what a record costs the thread that makes it", "[!benchmark][.]") {
  Folder folder;
  Open log(folder);
  log.begin();
  // As a turn of a busy loop would have them; the buffer is the same again and again then.
  constexpr int kTurns = 400, kInTurn = 100;
  std::chrono::duration<double, std::nano> took{0};
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kInTurn; ++i)
      record(Kind::call, {{"call", "c9f2"},
                          {"who", "alice"},
                          {"principal", "jwt:https://issuer.example#alice"},
                          {"from", "10.1.2.3:52110"},
                          {"server", "github"},
                          {"method", "tools/call"},
                          {"target", "search_code"},
                          {"era", "modern"},
                          {"client", R"({"name":"claude-code","version":"2.1"})"},
                          {"end", "ok"},
                          {"sent", "yes"},
                          {"dur_ms", 182},
                          {"bytes_in", 412},
                          {"bytes_out", 2048}});
    took += std::chrono::steady_clock::now() - begin;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  WARN(fmt::format("{:.0f} ns for a record, {} lost", took.count() / (kTurns * kInTurn), counts().lost));
  log.end();
}

TEST_CASE("refusals beyond the rate of their peer are counted in one record of the chain") {
  Folder folder;
  Open log(folder);
  log.begin();
  const uint64_t before = counts().counted;
  for (int i = 0; i < 5000; ++i) {
    record(Kind::refusal, {{"from", fmt::format("192.0.2.7:{}", 1000 + i)},
                           {"path", fmt::format("/{}", i)},
                           {"status", 401},
                           {"end", "unauthorized"}});
  }
  for (int i = 0; i < 300; ++i)
    call(i);  // those that were answered have a record each
  CHECK(counts().counted - before == 4900);
  log::tell_left_out();
  log.end();
  const std::string text = log.text();
  CHECK(text.find("\"from\":\"192.0.2.7\",\"end\":\"unauthorized\",\"status\":\"401\",\"unrecorded\":4900") !=
        std::string::npos);
  auto verdict = verify(log.files(), strictly());
  REQUIRE(verdict);
  CHECK(verdict->found == 0);
  CHECK(verdict->records < 420);
}
