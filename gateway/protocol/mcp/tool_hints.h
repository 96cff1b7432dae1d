// The annotations of a tool's definition that views are made by (2026-07-28 schema, ToolAnnotations). A
// missing hint has the default of the specification: readOnlyHint false, destructiveHint true. A hint of
// another type, or given twice with different values, counts as missing. No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/json/json_member.h"

namespace lineward::mcp {

class ToolHints {
 public:
  // The hints of a whole definition. A definition with two names or two annotations has no hints: its readers
  // differ.
  static ToolHints of(std::string_view definition) {
    ToolHints hints;
    uint32_t names = 0, annotations = 0;
    json::for_each_member(definition, [&](const std::string& key, std::string_view value) {
      if (key == "name") ++names;
      if (key != "annotations") return;
      ++annotations;
      hints.add(value);
    });
    return names == 1 && annotations == 1 ? hints : ToolHints();
  }
  // The raw value of `annotations`.
  void add(std::string_view annotations) {
    bool is_object = json::for_each_member(annotations, [&](const std::string& key, std::string_view value) {
      if (key == "readOnlyHint") read_only_.add(value == "true");
      if (key == "destructiveHint") harmless_.add(value == "false");
    });
    if (!is_object) read_only_ = harmless_ = {true, false};
  }

  bool read_only() const { return read_only_.holds(); }
  bool non_destructive() const { return read_only() || harmless_.holds(); }

 private:
  struct Claim {
    bool made = false;
    bool always = true;
    void add(bool holds) {
      made = true;
      always = always && holds;
    }
    bool holds() const { return made && always; }
  };
  Claim read_only_, harmless_;
};

}  // namespace lineward::mcp
