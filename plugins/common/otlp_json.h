// Pieces of OTLP's JSON encoding that spans, metrics and log records share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lineward::plugins {

// A key-value list, as its members are added.
class OtlpAttributes {
 public:
  void text(std::string_view key, std::string_view value);  // an empty one is left out
  void number(std::string_view key, int64_t value);
  std::string json() const { return "[" + list_ + "]"; }

 private:
  std::string list_;
};

// What is said of OTLP's three kinds of data where they differ.
enum class OtlpSignal : uint8_t { spans, metrics, logs };
struct OtlpSignalRow {
  std::string_view event;     // in the log, where sending fails
  std::string_view resource;  // the members of a request, from the outside in
  std::string_view scope;
  std::string_view items;
  std::string_view rejected;  // in an answer: how many were not taken
  std::string_view path;      // behind the endpoint of all three
  std::string_view variable;  // in the names of environment variables
};
const OtlpSignalRow& row(OtlpSignal signal);

}  // namespace lineward::plugins
