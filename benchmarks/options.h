// The options of a program: "--name value", each once, in any order.
#pragma once

#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "requests.h"

namespace bench {

class Options {
 public:
  Options(int argc, char** argv) : complete_(argc % 2 == 1) {
    for (int i = 1; i + 1 < argc; i += 2)
      complete_ = values_.emplace(argv[i], argv[i + 1]).second && complete_;
  }

  // Each of these takes one option out, and leaves `out` as it is where there is none.
  bool take(const std::string& name, std::string& out) {
    auto found = values_.find(name);
    if (found == values_.end()) return false;
    out = std::move(found->second);
    values_.erase(found);
    return true;
  }
  template <class Number>
  void take(const std::string& name, Number& out, int64_t least, int64_t most) {
    std::string text;
    if (take(name, text))
      out = static_cast<Number>(std::clamp<int64_t>(std::atoll(text.c_str()), least, most));
  }
  void take(const std::string& name, std::chrono::seconds& out, int64_t least, int64_t most) {
    int64_t count = out.count();
    take(name, count, least, most);
    out = std::chrono::seconds(count);
  }
  // All of them were taken.
  bool done() const { return complete_ && values_.empty(); }

 private:
  std::map<std::string, std::string> values_;
  bool complete_;
};

// The parts between commas; at least one.
inline std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  for (;;) {
    size_t comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

// The gateway that is measured: --port, --pid, --marker (process_cost.h), --path, --header, --era.
struct Front {
  Target target;
  pid_t pid = 0;
  std::string marker;

  bool take(Options& options) {
    std::string era, header;
    options.take("--marker", marker);
    options.take("--port", target.port, 1, UINT16_MAX);
    options.take("--pid", pid, 1, INT32_MAX);
    options.take("--path", target.path);
    if (options.take("--era", era)) target.era = era == "legacy" ? Era::legacy : Era::modern;
    if (options.take("--header", header)) target.header = header + "\r\n";
    return target.port != 0 && pid > 0 && !marker.empty();
  }
  // The last of a program's options: what is left then is wrong, and `usage` is printed.
  bool take_last(Options& options, const char* usage) {
    if (take(options) && options.done()) return true;
    fmt::print(stderr, "usage: {}\n", usage);
    return false;
  }
};

}  // namespace bench
