#include "proxy/audit/verify.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <random>

#include "proxy/audit/audit.h"
#include "unit/proxy/audit/audit_folder.h"

using namespace lineward;
using namespace lineward::audit;

namespace {

constexpr size_t kMany = 100'000;  // takes its time in a sanitized build
constexpr size_t kAlteredRecords = 10'000;

// A log of so many records that was closed in order.
std::vector<std::string> log_of(size_t records) {
  HashChain chain;
  std::vector<std::string> lines;
  auto add = [&](Kind kind, std::vector<log::Field> fields) {
    std::string line = chain.seal(spell(kind, 1700000000000, fields).body);
    line.pop_back();
    lines.push_back(std::move(line));
  };
  add(Kind::open, {{"why", "start"}, {"after", "nothing"}});
  while (lines.size() + 1 < records)
    add(Kind::call, {{"call", fmt::format("c{}", lines.size())}, {"end", "ok"}});
  add(Kind::close, {{"why", "stop"}});
  return lines;
}

struct Altered {
  const char* name;
  void (*alter)(std::vector<std::string>&, size_t at);
  // The number of the record that is named first.
  uint64_t (*first)(size_t at);
};

// `at` counts from 0, records from 1.
const Altered kAltered[] = {
    {"changed", [](auto& lines, size_t at) { lines[at][lines[at].find("Z\"") - 1] ^= 1; },
     [](size_t at) { return uint64_t{at + 1}; }},
    {"taken out", [](auto& lines, size_t at) { lines.erase(lines.begin() + static_cast<long>(at)); },
     [](size_t at) { return uint64_t{at + 1}; }},
    {"put in twice",
     [](auto& lines, size_t at) { lines.insert(lines.begin() + static_cast<long>(at), lines[at]); },
     [](size_t at) { return uint64_t{at + 1}; }},
    {"swapped with the next one", [](auto& lines, size_t at) { std::swap(lines[at], lines[at + 1]); },
     [](size_t at) { return uint64_t{at + 1}; }},
    {"cut", [](auto& lines, size_t at) { lines[at].resize(lines[at].size() / 2); },
     [](size_t at) { return uint64_t{at + 1}; }},
    {"made anew",
     [](auto& lines, size_t at) {
       // A forgery that knows the form: with a matching hash.
       std::string& line = lines[at];
       const size_t prev = line.find(",\"prev\":\"") + 9;
       HashChain chain(at, line.substr(prev, 64));
       line = chain.seal(spell(Kind::call, 1700000000000, std::vector<log::Field>{{"call", "other"}}).body);
       line.pop_back();
     },
     [](size_t at) { return uint64_t{at + 1}; }},
};

// Each alteration of the record at that place of a log of many.
void check_altered_at(size_t at) {
  Folder folder;
  const std::string path = folder.file("audit.jsonl");
  const std::vector<std::string> whole = log_of(kAlteredRecords);
  for (const Altered& one : kAltered) {
    std::vector<std::string> lines = whole;
    one.alter(lines, at);
    write_text(path, text_of(lines));
    Verdict verdict = verified({path});
    INFO(one.name << " at " << at);
    // After a cut beginning the first remaining record is named.
    if (at == 0 && one.name == std::string("swapped with the next one")) {
      REQUIRE_FALSE(verdict.whole());
      CHECK(verdict.findings[0].seq == 2);
      continue;
    }
    if (at == 0 && one.name == std::string("taken out")) {
      REQUIRE(verdict.found == 1);
      CHECK(verdict.findings[0].seq == 2);
      CHECK(verdict.findings[0].text.find("was cut off in front of record 2") != std::string::npos);
      continue;
    }
    REQUIRE_FALSE(verdict.whole());
    CHECK(verdict.findings.front().seq == one.first(at));
  }
}

}  // namespace

TEST_CASE("a log as it was written is whole") {
  Folder folder;
  const std::string path = folder.file("audit.jsonl");
  write_text(path, text_of(log_of(kMany)));
  VerifyOptions options;
  options.closed = true;
  Verdict verdict = verified({path}, options);
  CHECK(verdict.whole());
  CHECK(verdict.records == kMany);
  CHECK(verdict.first == 1);
  CHECK(verdict.last == kMany);
  CHECK(verdict.notes.empty());
}

TEST_CASE("whatever is done to the first of 10,000 records is found, and the record is named") {
  check_altered_at(0);
}

TEST_CASE("whatever is done to one in the midst of 10,000 records is found, and the first one is named") {
  std::mt19937 random(20261124);
  check_altered_at(std::uniform_int_distribution<size_t>(1, kAlteredRecords - 3)(random));
}

TEST_CASE("whatever is done to the last but one of 10,000 records is found, and the first one is named") {
  check_altered_at(kAlteredRecords - 2);
}

TEST_CASE("a record that is missing is found at every place of a shorter log") {
  Folder folder;
  const std::string path = folder.file("audit.jsonl");
  const std::vector<std::string> whole = log_of(100);
  VerifyOptions closed;
  closed.closed = true;
  for (const Altered& one : kAltered) {
    for (size_t at = 1; at + 1 < whole.size(); ++at) {
      std::vector<std::string> lines = whole;
      one.alter(lines, at);
      write_text(path, text_of(lines));
      Verdict verdict = verified({path}, closed);
      INFO(one.name << " at " << at);
      REQUIRE_FALSE(verdict.whole());
      CHECK(verdict.findings.front().seq == one.first(at));
    }
  }
}

TEST_CASE("a log that was cut off at its end says so: strictly, or as a note") {
  Folder folder;
  const std::string path = folder.file("audit.jsonl");
  std::vector<std::string> lines = log_of(50);
  const std::string last_hash(read_record(lines.back())->hash);
  lines.pop_back();
  write_text(path, text_of(lines));
  Verdict easy = verified({path});
  CHECK(easy.whole());
  REQUIRE(easy.notes.size() == 1);
  CHECK(easy.notes[0].seq == 49);
  VerifyOptions options;
  options.closed = true;
  CHECK(verified({path}, options).findings.front().seq == 50);
  // A record that was noted elsewhere shows it even without other signs.
  VerifyOptions known;
  known.known_seq = 50;
  known.known_hash = last_hash;
  CHECK(verified({path}, known).findings.front().seq == 50);
  write_text(path, text_of(log_of(50)));
  CHECK(verified({path}, known).whole());
  known.known_hash = std::string(64, 'a');
  CHECK_FALSE(verified({path}, known).whole());
}

TEST_CASE("files are put in their order, and one that is missing is missed") {
  Folder folder;
  const std::vector<std::string> lines = log_of(90);
  std::vector<std::string> files;
  for (size_t part = 0; part < 3; ++part) {
    files.push_back(folder.file(fmt::format("part{}", 3 - part)));
    write_text(files.back(), text_of({lines.begin() + static_cast<long>(30 * part),
                                      lines.begin() + static_cast<long>(30 * part + 30)}));
  }
  CHECK(verified(files).whole());
  CHECK(verified({files[2], files[0], files[1]}).whole());
  Verdict gap = verified({files[0], files[2]});
  REQUIRE(gap.found == 1);
  CHECK(gap.findings[0].seq == 31);
  CHECK(gap.findings[0].file == files[2]);
  Verdict tail = verified({files[1], files[2]});
  REQUIRE(tail.found == 1);  // these files were cut in the middle, not rotated
  CHECK(tail.findings[0].seq == 31);
  REQUIRE(tail.notes.size() == 1);
  CHECK(tail.notes[0].text.find("1 to 30") != std::string::npos);
  CHECK_FALSE(verified({files[0], files[0], files[1], files[2]}).whole());
}

TEST_CASE("a record that a file could not take stands whole in the next one; nothing else is forgiven") {
  Folder folder;
  const std::vector<std::string> lines = log_of(40);
  const std::string first = folder.file("first"), second = folder.file("second");
  const std::string head = text_of({lines.begin(), lines.begin() + 20});
  write_text(second, text_of({lines.begin() + 20, lines.end()}));
  write_text(first, head + lines[20].substr(0, 30));
  Verdict begun = verified({first, second});
  CHECK(begun.whole());
  REQUIRE(begun.notes.size() == 1);
  CHECK(begun.notes[0].text.find("could not be finished there") != std::string::npos);
  // A matching beginning does not cover bytes that were put in before it.
  for (const std::string& put_in :
       {std::string("something else\n"), std::string("{}\n{}\n"), std::string("\n")}) {
    write_text(first, head + put_in + lines[20].substr(0, 30));
    CHECK_FALSE(verified({first, second}).whole());
  }
  write_text(first, head + lines[21].substr(0, 30));
  CHECK_FALSE(verified({first, second}).whole());
}

TEST_CASE("garbage is no audit log, and nothing of it is believed") {
  Folder folder;
  const std::string path = folder.file("audit.jsonl");
  for (const std::string& text :
       {std::string(), std::string("\n\n\n"), std::string("{}\n"), std::string(3 << 20, 'x'),
        std::string("{\"seq\":1}\n"), std::string("{\"seq\":18446744073709551616,\"time\":\"\n"),
        std::string(100, '\0') + "\n"}) {
    write_text(path, text);
    Verdict verdict = verified({path});
    CHECK_FALSE(verdict.whole());
    CHECK(verdict.findings.size() <= Verdict::kMaxRemarks);
  }
  CHECK_FALSE(verify({folder.file("none")}, {}));
  CHECK_FALSE(verify({folder.path}, {}));
}

TEST_CASE("checkpoints are checked against the keys that were named") {
  Folder folder;
  make_key(folder.file("key"));
  make_key(folder.file("other"));
  auto key = SigningKey::read_private(folder.file("key"));
  REQUIRE(key);
  auto open_key = SigningKey::read_public(folder.file("key.pub"));
  REQUIRE(open_key);
  CHECK(open_key->id() == key->id());
  auto other = SigningKey::read_public(folder.file("other.pub"));
  REQUIRE(other);
  HashChain chain;
  std::string text;
  auto add = [&](Kind kind, std::vector<log::Field> fields) {
    text += chain.seal(spell(kind, 0, fields).body);
  };
  auto sign = [&](const SigningKey& with) {
    const std::string signature = with.sign(chain.seq() + 1, chain.hash(), {});
    add(Kind::checkpoint, {{"key", with.id()}, {"signature", signature}});
  };
  add(Kind::open, {});
  for (int i = 0; i < 20; ++i)
    add(Kind::call, {{"call", "c"}});
  sign(*key);
  add(Kind::close, {});
  const std::string path = folder.file("audit.jsonl");
  write_text(path, text);
  VerifyOptions with;
  with.keys = {*open_key};
  CHECK(verified({path}, with).whole());
  CHECK(verified({path}).whole());
  with.keys = {*other};
  CHECK_FALSE(verified({path}, with).whole());
  with.keys = {*other, *open_key};
  CHECK(verified({path}, with).whole());

  // A chain that was made anew from a changed record on fits in itself, and not with the signature.
  std::vector<std::string> lines = lines_of(text);
  HashChain again;
  std::string forged;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string body = lines[i].substr(lines[i].find(",\"time\"") + 1);
    body.resize(body.find(",\"prev\""));
    if (i == 5) body += ",\"x\":1";
    forged += again.seal(body);
  }
  write_text(path, forged);
  with.keys = {*open_key};
  CHECK(verified({path}).whole());
  Verdict verdict = verified({path}, with);
  REQUIRE_FALSE(verdict.whole());
  CHECK(verdict.findings.front().seq == 22);

  // Without any checkpoint, and closed without one.
  text.clear();
  chain = HashChain();
  add(Kind::open, {});
  add(Kind::call, {});
  add(Kind::close, {});
  write_text(path, text);
  CHECK_FALSE(verified({path}, with).whole());
}

TEST_CASE("what is no record and longer than a crash leaves is not forgiven, however it ends") {
  Folder folder;
  const std::vector<std::string> lines = log_of(40);
  const std::string first = folder.file("first"), second = folder.file("second");
  const std::string head = text_of({lines.begin(), lines.begin() + 20});
  const std::string cut = lines[20].substr(0, 30);
  const std::string much = std::string(9 << 20, 'x') + "\n";
  write_text(second, text_of({lines.begin() + 20, lines.end()}));
  write_text(first, head + much + cut);
  CHECK_FALSE(verified({first, second}).whole());
  CHECK_FALSE(verified({first}).whole());
  // The torn bytes that a record names are all that stands there.
  const auto last = read_record(lines[19]);
  HashChain chain(last->seq, std::string(last->hash));
  const std::string torn =
      spell(Kind::torn, 0, std::vector<log::Field>{{"bytes", 30}, {"sha256", sha256_hex(cut)}}).body;
  const std::string told = chain.seal(torn);
  write_text(first, head + cut + "\n" + told);
  CHECK(verified({first}).whole());
  write_text(first, head + much + cut + "\n" + told);
  CHECK_FALSE(verified({first}).whole());
  // Behind it others are forgiven again.
  write_text(first, much + head + cut + "\n" + told);
  CHECK(verified({first}).found == 1);
}

TEST_CASE("a log with a later key is signed by the first checkpoint, and not behind the last one") {
  Folder folder;
  make_key(folder.file("key"));
  auto key = SigningKey::read_private(folder.file("key"));
  REQUIRE(key);
  VerifyOptions with;
  with.keys = {*key};
  HashChain chain;
  std::string text;
  auto add = [&](Kind kind, std::vector<log::Field> fields) {
    text += chain.seal(spell(kind, 0, fields).body);
  };
  auto run = [&](bool sign) {
    add(Kind::open, {{"why", "start"}});
    add(Kind::call, {{"call", "c1"}});
    if (sign) {
      const std::string signature = key->sign(chain.seq() + 1, chain.hash(), kStop);
      add(Kind::checkpoint, {{"end", kStop}, {"key", key->id()}, {"signature", signature}});
    }
    add(Kind::close, {{"why", kStop}});
  };
  const std::string path = folder.file("audit.jsonl");
  run(false);
  run(false);
  run(true);
  write_text(path, text);
  CHECK(verified({path}, with).whole());
  // Removal of the key is visible.
  run(false);
  run(false);
  write_text(path, text + "garbage\n");
  Verdict verdict = verified({path}, with);
  REQUIRE(verdict.found == 2);
  REQUIRE(verdict.findings.size() == 2);
  CHECK(verdict.findings[0].seq == 13);
  CHECK(verdict.findings[0].line == 13);
  CHECK(verdict.findings[0].text ==
        "the file was closed without a signed checkpoint before; later ones like it: 1");
  CHECK(verdict.findings[1].line == 17);
}

TEST_CASE("a pipe is refused: files are read twice") {
  Folder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, std::string("/dev/null")}) {
    auto verdict = verify({path}, {});
    REQUIRE_FALSE(verdict);
    CHECK(verdict.error().text.find(path + ": not a regular file; unpack it") != std::string::npos);
  }
}

TEST_CASE("with a key the end of a log must be signed as its end") {
  Folder folder;
  make_key(folder.file("key"));
  auto key = SigningKey::read_private(folder.file("key"));
  REQUIRE(key);
  HashChain chain;
  std::string text;
  auto add = [&](Kind kind, std::vector<log::Field> fields) {
    text += chain.seal(spell(kind, 0, fields).body);
  };
  auto sign = [&](std::string_view end) {
    const std::string signature = key->sign(chain.seq() + 1, chain.hash(), end);
    add(Kind::checkpoint, {{"records", 1}, {"end", end}, {"key", key->id()}, {"signature", signature}});
  };
  add(Kind::open, {{"why", "start"}});
  sign({});
  const HashChain cut_here = chain;
  const std::string head = text;
  add(Kind::call, {{"call", "c1"}});
  sign("stop");
  const HashChain end_here = chain;
  const std::string whole = text;
  add(Kind::close, {{"why", "stop"}});

  const std::string path = folder.file("audit.jsonl");
  VerifyOptions closed;
  closed.closed = true;
  VerifyOptions with = closed;
  with.keys = {*key};
  write_text(path, text);
  CHECK(verified({path}, with).whole());

  // After a cut behind a checkpoint the log can be closed without the key, and the signed content can be
  // written into an unsigned checkpoint.
  chain = cut_here;
  text = head;
  add(Kind::close, {{"why", "stop"}});
  write_text(path, text);
  CHECK(verified({path}, closed).whole());
  Verdict verdict = verified({path}, with);
  REQUIRE(verdict.found == 1);
  CHECK(verdict.findings[0].text == "the end is not signed: it may have been cut off");
  CHECK(verdict.findings[0].seq == 3);
  with.closed = false;
  CHECK(verified({path}, with).whole());
  with.closed = true;
  const std::vector<std::string> lines = lines_of(head);
  const std::string ours(read_record(lines[1])->prev);
  chain = HashChain(1, ours);
  text = lines[0] + "\n";
  const std::string signature = key->sign(2, ours, {});
  add(Kind::checkpoint, {{"records", 1}, {"end", "stop"}, {"key", key->id()}, {"signature", signature}});
  add(Kind::close, {{"why", "stop"}});
  write_text(path, text);
  CHECK_FALSE(verified({path}, with).whole());

  // There is no record between the two.
  chain = end_here;
  text = whole;
  add(Kind::call, {{"call", "c2"}});
  add(Kind::close, {{"why", "stop"}});
  write_text(path, text);
  CHECK_FALSE(verified({path}, with).whole());
}

TEST_CASE("keys of another kind are refused, and nothing of them is told") {
  Folder folder;
  write_text(folder.file("text"), "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n");
  for (const char* name : {"text", "none"}) {
    auto key = SigningKey::read_private(folder.file(name));
    REQUIRE_FALSE(key);
    CHECK(key.error().text.find("c2VjcmV0") == std::string::npos);
    CHECK_FALSE(SigningKey::read_public(folder.file(name)));
  }
}

TEST_CASE("a log may begin with any file, and not within one") {
  Folder folder;
  const std::string path = folder.file("audit.jsonl");
  HashChain chain;
  std::vector<std::string> lines;
  auto add = [&](Kind kind, std::vector<log::Field> fields) {
    std::string line = chain.seal(spell(kind, 1700000000000, fields).body);
    line.pop_back();
    lines.push_back(std::move(line));
  };
  add(Kind::open, {{"why", "start"}, {"after", "nothing"}});
  add(Kind::close, {{"why", "rotate"}});
  lines.clear();  // that file was deleted
  add(Kind::open, {{"why", "rotate"}, {"after", "close"}});
  for (int i = 0; i < 5; ++i)
    add(Kind::call, {{"call", fmt::format("c{}", i)}});
  add(Kind::close, {{"why", "stop"}});
  write_text(path, text_of(lines));
  CHECK(verified({path}).whole());
  for (size_t cut = 1; cut < lines.size(); ++cut) {
    write_text(path, text_of({lines.begin() + static_cast<long>(cut), lines.end()}));
    const Verdict verdict = verified({path});
    CHECK_FALSE(verdict.whole());
    CHECK(verdict.findings.front().seq == cut + 3);
  }
}

TEST_CASE("what a full disk did not take stands in front of the record open of the next file") {
  Folder folder;
  const std::string path = folder.file("audit.jsonl");
  HashChain chain(7, std::string(64, 'a'));
  std::vector<std::string> lines;
  auto add = [&](Kind kind, std::vector<log::Field> fields) {
    std::string line = chain.seal(spell(kind, 1700000000000, fields).body);
    line.pop_back();
    lines.push_back(std::move(line));
  };
  add(Kind::call, {{"call", "c1"}});
  add(Kind::open, {{"why", "reopen"}, {"after", "fault"}});
  add(Kind::close, {{"why", "stop"}});
  write_text(path, text_of(lines));
  CHECK(verified({path}).whole());
}
