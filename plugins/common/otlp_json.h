// Parts of OTLP's JSON encoding shared by spans, metrics and log records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lineward::plugins {

// Builds a key-value list.
class OtlpAttributes {
 public:
  void text(std::string_view key, std::string_view value);  // empty values are omitted
  void number(std::string_view key, int64_t value);
  std::string json() const { return "[" + list_ + "]"; }

 private:
  std::string list_;
};

// The differences of OTLP's three signals.
enum class OtlpSignal : uint8_t { spans, metrics, logs };
struct OtlpSignalRow {
  std::string_view event;     // log event of failed exports
  std::string_view resource;  // members of a request, from the outside in
  std::string_view scope;
  std::string_view items;
  std::string_view rejected;  // member of an answer: number of rejected items
  std::string_view path;      // appended to the common endpoint
  std::string_view variable;  // in the names of environment variables
};
const OtlpSignalRow& row(OtlpSignal signal);

}  // namespace lineward::plugins
