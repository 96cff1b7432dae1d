#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "plugins/audit/access_log_line.h"
#include "plugins/audit/line_writer.h"

using namespace lineward;
using namespace std::chrono_literals;
using plugins::LineFormat;
using plugins::LineValues;
using plugins::LineWriter;
using F = plugins::LineField;

namespace {

LineValues values() {
  LineValues out;
  out.set(F::time, "2026-11-20T12:03:07.412Z");
  out.set(F::remote, "10.0.0.1:5123");
  out.set(F::principal, "ann b");
  out.set(F::upstream, "github");
  out.set(F::method, "tools/call");
  out.set(F::target, "add");
  out.set(F::status, 200);
  out.set_ms(F::dur_ms, 1240us);
  out.set(F::bytes_out, 99);
  out.set(F::revision, "2026-07-28");
  return out;
}

const std::vector<F> kSome{F::time, F::principal, F::target, F::status, F::dur_ms, F::code, F::error};

struct Folder {
  Folder() {
    char pattern[] = "/tmp/lineward-log-XXXXXX";
    path = mkdtemp(pattern);
  }
  ~Folder() {
    for (const char* name : {"/a.log", "/b.log"})
      unlink((path + name).c_str());
    rmdir(path.c_str());
  }
  std::string read(const char* name) const {
    std::ostringstream out;
    out << std::ifstream(path + name).rdbuf();
    return out.str();
  }
  std::string path;
};

}  // namespace

TEST_CASE("a line in three formats") {
  CHECK(
      plugins::spell_line(LineFormat::json, kSome, values()) ==
      R"({"time":"2026-11-20T12:03:07.412Z","principal":"ann b","target":"add","status":200,"dur_ms":1.2})");
  CHECK(plugins::spell_line(LineFormat::logfmt, kSome, values()) ==
        R"(time=2026-11-20T12:03:07.412Z principal="ann b" target=add status=200 dur_ms=1.2)");
  CHECK(
      plugins::spell_line(LineFormat::combined, kSome, values()) ==
      R"(10.0.0.1 - ann+b [20/Nov/2026:12:03:07 +0000] "tools/call /github/add MCP/2026-07-28" 200 99 "-" "-")");
  LineValues refused;
  refused.set(F::time, "2026-11-20T12:03:07.412Z");
  refused.set(F::remote, "[::1]:80");
  refused.set(F::status, 401);
  refused.set(F::request, "POST /mcp");
  CHECK(plugins::spell_line(LineFormat::combined, kSome, refused) ==
        R"([::1] - - [20/Nov/2026:12:03:07 +0000] "POST /mcp HTTP/1.1" 401 - "-" "-")");
}

TEST_CASE("no value makes a second line, ends its quotes or steers a terminal") {
  std::string nasty = "x\" y=\r\n\x1b[2J\x07\x7f\xc2\x9b\xe2\x80\xa8\\";
  nasty += '\0';
  nasty += "\xff\xfe";
  LineValues out = values();
  for (F field : {F::principal, F::target, F::error, F::upstream, F::method, F::agent, F::remote})
    out.set(field, nasty);
  for (LineFormat format : {LineFormat::json, LineFormat::logfmt, LineFormat::combined}) {
    std::string line = plugins::spell_line(format, {F::principal, F::target, F::error}, out);
    INFO(line);
    for (unsigned char c : line)
      CHECK((c >= 0x20 && c < 0x7F));
    CHECK(line.find("x\" y=") == std::string::npos);
  }
  LineValues foreign = values();
  foreign.set(F::target, "ä漢🙂");
  CHECK(plugins::spell_line(LineFormat::json, {F::target}, foreign) ==
        R"({"target":"\u00e4\u6f22\ud83d\ude42"})");
  CHECK(plugins::spell_line(LineFormat::logfmt, {F::target}, foreign) ==
        R"(target="\u00e4\u6f22\ud83d\ude42")");
  LineValues spoof = values();
  spoof.set(F::target, "a status=200 code=0");
  CHECK(plugins::spell_line(LineFormat::logfmt, {F::target}, spoof) == R"(target="a status=200 code=0")");
  CHECK(plugins::spell_line(LineFormat::combined, {}, spoof).find("/a+status=200+code=0 MCP/") !=
        std::string::npos);
}

TEST_CASE("long values are cut between characters") {
  LineValues out;
  out.set(F::target, "aé", 2);
  CHECK(out.text(F::target) == "a...");
  out.set(F::target, "aé", 3);
  CHECK(out.text(F::target) == "aé");
}

TEST_CASE("milliseconds have one digit behind the point") {
  LineValues out;
  const auto shown = [&](std::chrono::microseconds time) {
    out.set_ms(F::dur_ms, time);
    return out.text(F::dur_ms);
  };
  CHECK(shown(0us) == "0.0");
  CHECK(shown(49us) == "0.0");
  CHECK(shown(50us) == "0.1");
  CHECK(shown(1249us) == "1.2");
  CHECK(shown(1250us) == "1.3");
  CHECK(shown(999'950us) == "1000.0");
  CHECK(shown(-3us) == "0.0");
}

TEST_CASE("the next line has nothing of the one before") {
  LineValues out = values();
  out.set(F::result, std::string(100'000, 'x'), std::string::npos);
  out.clear();
  CHECK(plugins::spell_line(LineFormat::json, {F::time, F::status, F::dur_ms, F::result}, out) == "{}");
  CHECK(out.text(F::result).capacity() <= 1024);
  out.set(F::status, "text");
  CHECK(plugins::spell_line(LineFormat::json, {F::status}, out) == R"({"status":"text"})");
}

TEST_CASE("fields are named, and payload is none of them") {
  auto fields = plugins::parse_fields({"time", "code", "time"});
  REQUIRE(fields);
  CHECK(*fields == std::vector<F>{F::time, F::code});
  CHECK_FALSE(plugins::parse_fields({"tiem"}));
  CHECK_FALSE(plugins::parse_fields({"arguments"}));
  CHECK_FALSE(plugins::parse_fields({"result"}));
}

TEST_CASE("lines reach the file, also one that took its place, also at the end") {
  Folder folder;
  net::Loop loop;
  std::string path = folder.path + "/a.log";
  {
    auto writer = LineWriter::open(loop, path);
    REQUIRE(writer);
    struct stat status {};
    REQUIRE(stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0137) == 0);
    (*writer)->write("one");
    (*writer)->write("two");
  }
  CHECK(folder.read("/a.log") == "one\ntwo\n");
  {
    auto writer = LineWriter::open(loop, path);
    REQUIRE(writer);
    REQUIRE(rename(path.c_str(), (folder.path + "/b.log").c_str()) == 0);
    (*writer)->write("three");
    CHECK((*writer)->dropped() == 0);
  }
  CHECK(folder.read("/b.log") == "one\ntwo\n");
  CHECK(folder.read("/a.log") == "three\n");
  CHECK_FALSE(LineWriter::open(loop, folder.path + "/none/a.log"));
  loop.close_all();
}

TEST_CASE("a pipe without a reader costs lines, not time") {
  Folder folder;
  std::string path = folder.path + "/a.log";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  net::Loop loop;
  CHECK_FALSE(LineWriter::open(loop, path));  // no reader: an error, not a wait
  int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  {
    auto writer = LineWriter::open(loop, path);
    REQUIRE(writer);
    // A wait for the reader would never end here.
    std::string line(999, 'x');
    for (int i = 0; i < 20000; ++i)
      (*writer)->write(line);
    CHECK((*writer)->dropped() > 10000);
  }
  close(reader);
  loop.close_all();
}

TEST_CASE("a line that a full pipe cut off stays alone: what comes later is whole, and one line is lost") {
  Folder folder;
  const std::string path = folder.path + "/a.log";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  net::Loop loop;
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  const int room = fcntl(reader, F_SETPIPE_SZ, 4096);
  REQUIRE(room > 0);
  std::string came;
  auto drain = [&] {
    char bytes[4096];
    for (ssize_t got = 0; (got = read(reader, bytes, sizeof bytes)) > 0;)
      came.append(bytes, static_cast<size_t>(got));
  };
  const std::string line(699, 'x');
  const int whole = room / 700;
  {
    auto writer = LineWriter::open(loop, path);
    REQUIRE(writer);
    // At once, since a pipe takes a short piece whole or not at all.
    std::string lines = line;
    for (int i = 0; i < whole; ++i)
      lines += '\n' + line;
    (*writer)->write(lines);
    (*writer)->reopen();  // all is handed over, and the same pipe opened anew
    while ((*writer)->dropped() == 0)
      std::this_thread::yield();
    CHECK((*writer)->dropped() == 1);
    drain();
    CHECK(came.back() == 'x');
    (*writer)->write("after");
    (*writer)->reopen();
    // A pipe of one page is full with whatever is in it.
    while (came.find("after\n") == std::string::npos) {
      drain();
      std::this_thread::yield();
    }
    (*writer)->write("last");
  }
  drain();
  std::istringstream lines(came);
  std::vector<std::string> all;
  for (std::string one; std::getline(lines, one);)
    all.push_back(one);
  REQUIRE(all.size() == static_cast<size_t>(whole) + 3);
  for (int i = 0; i < whole; ++i)
    CHECK(all[static_cast<size_t>(i)] == line);
  CHECK(all[static_cast<size_t>(whole)].size() < line.size());
  CHECK(all[all.size() - 2] == "after");
  CHECK(all.back() == "last");
  close(reader);
  loop.close_all();
}
