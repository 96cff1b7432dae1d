// An altered audit log: verify() finds each change of a log that was closed in order. Other files in its
// place cause no crash and are not taken for one.
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/check.h"
#include "proxy/audit/audit.h"
#include "proxy/audit/entry.h"
#include "proxy/audit/hash_chain.h"
#include "proxy/audit/verify.h"

using namespace lineward;

namespace {

constexpr size_t kRecords = 12;

std::vector<std::string> whole_log() {
  audit::HashChain chain;
  std::vector<std::string> lines;
  const auto add = [&](audit::Kind kind, std::vector<log::Field> fields) {
    lines.push_back(chain.seal(audit::spell(kind, 1700000000000, fields).body));
  };
  add(audit::Kind::open, {{"why", "start"}, {"after", "nothing"}});
  while (lines.size() + 1 < kRecords)
    add(audit::Kind::call, {{"call", std::string_view("c")}, {"end", "ok"}});
  add(audit::Kind::close, {{"why", "stop"}});
  return lines;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines)
    out += line;
  return out;
}

// A file of this process, written anew each time.
bool verifies(const std::string& text) {
  static const std::string path = [] {
    std::string name = "/tmp/lineward-fuzz-audit-XXXXXX";
    const int fd = mkstemp(name.data());
    LW_CHECK(fd >= 0);
    close(fd);
    return name;
  }();
  std::FILE* file = std::fopen(path.c_str(), "wb");
  LW_CHECK(file != nullptr);
  LW_CHECK(std::fwrite(text.data(), 1, text.size(), file) == text.size());
  std::fclose(file);
  audit::VerifyOptions options;
  options.closed = true;
  const auto verdict = audit::verify({path}, options);
  LW_CHECK(verdict.has_value());
  LW_CHECK(verdict->whole() || !verdict->findings.empty());
  LW_CHECK(verdict->findings.size() <= audit::Verdict::kMaxRemarks);
  return verdict->whole() && verdict->first == 1;
}

// Takes the bytes as orders: what is done where.
std::string altered(std::vector<std::string> lines, const uint8_t* data, size_t size) {
  for (size_t i = 0; i + 2 < size && !lines.empty(); i += 3) {
    const size_t at = data[i + 1] % lines.size(), what = data[i + 2];
    std::string& line = lines[at];
    switch (data[i] % 6) {
      case 0:
        if (!line.empty()) line[what % line.size()] = static_cast<char>(data[i]);
        break;
      case 1: lines.erase(lines.begin() + static_cast<long>(at)); break;
      case 2: lines.insert(lines.begin() + static_cast<long>(what % lines.size()), std::string(line)); break;
      case 3: std::swap(line, lines[what % lines.size()]); break;
      case 4: line.resize(line.size() * what / 255); break;
      case 5:
        line.insert(line.size() * what / 255, std::string(1 + what % 3, static_cast<char>(data[i])));
        break;
    }
  }
  return text_of(lines);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<std::string> lines = whole_log();
  static const std::string whole = text_of(lines);
  if (size == 0) return 0;
  // As it is, or behind orders.
  const bool orders = data[0] % 2 == 0;
  const std::string text = orders ? altered(lines, data + 1, size - 1)
                                  : std::string(reinterpret_cast<const char*>(data + 1), size - 1);
  // Bytes behind the closing record are the log of the next process, and are checked as that.
  LW_CHECK(verifies(text) == (text == whole) || !orders);
  return 0;
}
