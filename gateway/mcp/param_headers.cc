#include "mcp/param_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/json_member.h"
#include "mcp/header_value.h"

namespace lineward::mcp {
namespace {

constexpr std::string_view kAnnotation = "x-mcp-header";
constexpr std::string_view kPrefix = "Mcp-Param-";
constexpr size_t kMostNameBytes = 100;
constexpr int64_t kSafeInteger = (1ll << 53) - 1;

bool same_name(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) { return lower(x) == lower(y); });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Their values are data, not schemas: what looks like an annotation there is none.
bool holds_data(std::string_view keyword) {
  static constexpr std::array<std::string_view, 4> kWords{"default", "const", "enum", "examples"};
  return is_one_of(kWords, keyword);
}

// Their members are names of schemas, not keywords.
bool holds_schemas_by_name(std::string_view keyword) {
  static constexpr std::array<std::string_view, 5> kWords{"properties", "patternProperties",
                                                          "dependentSchemas", "$defs", "definitions"};
  return is_one_of(kWords, keyword);
}

// Walks a schema. `path_` is where we are as long as only `properties` led here; behind anything else an
// annotation makes the definition invalid. The text was validated with a limit of depth, which bounds the
// recursion too.
class Reader {
 public:
  ParamHeaders found;
  std::string fault;

  void schema(std::string_view object, bool reachable) {
    std::optional<std::string_view> annotation;
    std::optional<std::string_view> type;
    json::for_each_member(object, [&](const std::string& key, std::string_view value) {
      if (!fault.empty()) return;
      if (key == kAnnotation) {
        annotation = value;
      } else if (key == "type") {
        type = value;
      } else if (holds_schemas_by_name(key)) {
        named(value, reachable && key == "properties");
      } else if (!holds_data(key)) {
        below(value);
      }
    });
    if (annotation && fault.empty()) annotated(*annotation, json::string_value(type), reachable);
  }

 private:
  void named(std::string_view schemas, bool reachable) {
    json::for_each_member(schemas, [&](const std::string& name, std::string_view value) {
      if (!fault.empty() || value.empty() || value.front() != '{') return;
      path_.push_back(name);
      schema(value, reachable);
      path_.pop_back();
    });
  }

  void below(std::string_view value) {
    if (value.empty() || !fault.empty()) return;
    if (value.front() == '{') return schema(value, false);
    if (value.front() != '[') return;
    json::Cursor cursor(value);
    if (!cursor.at_array() || !cursor.enter_array()) return;
    json::Span element;
    while (cursor.next_element() && cursor.skip(element))
      below(element.in(value));
  }

  void annotated(std::string_view raw, const std::string& type, bool reachable) {
    std::string name = json::string_value(raw);
    if (!reachable || path_.empty()) {
      fault = "x-mcp-header stands where a chain of properties does not lead";
    } else if (!is_token(name) || name.size() > kMostNameBytes) {
      fault = "x-mcp-header is no header name";
    } else if (type != "string" && type != "integer" && type != "boolean") {
      fault = "x-mcp-header stands at a parameter that is no string, integer or boolean";
    } else if (found.size() == kMostParamHeaders) {
      fault = fmt::format("more than {} parameters have x-mcp-header", kMostParamHeaders);
    } else {
      std::string header = std::string(kPrefix) + name;
      for (const ParamHeader& other : found) {
        if (same_name(other.header, header)) fault = "two parameters have the same x-mcp-header";
      }
      ParamType kind = type == "string"    ? ParamType::string
                       : type == "integer" ? ParamType::integer
                                           : ParamType::boolean;
      found.push_back({path_, std::move(header), kind});
    }
  }

  std::vector<std::string> path_;
};

// The argument at the end of a path; nothing where there is none.
std::optional<std::string_view> argument(std::string_view arguments, const std::vector<std::string>& path) {
  std::optional<std::string_view> at = arguments;
  for (const std::string& name : path) {
    if (!at || at->empty() || at->front() != '{') return std::nullopt;
    at = json::member(*at, name);
  }
  if (at && *at == "null") return std::nullopt;
  return at;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A number as JavaScript would write it, where it is an integer; other numbers as they came.
std::optional<std::string> number_text(std::string_view raw) {
  int64_t whole = 0;
  auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), whole);
  if (error == std::errc() && end == raw.data() + raw.size()) {
    if (whole > kSafeInteger || whole < -kSafeInteger) return std::nullopt;
    return std::to_string(whole);
  }
  auto value = number(raw);
  if (!value) return std::nullopt;
  constexpr auto kMost = static_cast<double>(kSafeInteger);
  if (!(*value <= kMost && *value >= -kMost)) return std::nullopt;
  if (*value != static_cast<double>(static_cast<int64_t>(*value))) return std::string(raw);
  return std::to_string(static_cast<int64_t>(*value));
}

// A string, a number or a boolean as text; nothing for what has no header.
std::optional<std::string> text_of(std::string_view raw) {
  if (raw == "true" || raw == "false") return std::string(raw);
  if (raw.front() == '"') return json::string_value(raw);
  if (raw.front() == '-' || (raw.front() >= '0' && raw.front() <= '9')) return number_text(raw);
  return std::nullopt;
}

bool is_decimal(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  size_t point = std::min(text.find('.'), text.size());
  auto digits = [](std::string_view part) {
    return !part.empty() &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  return digits(text.substr(0, point)) && (point == text.size() || digits(text.substr(point + 1)));
}

}  // namespace

Result<ParamHeaders> read_param_headers(std::string_view input_schema) {
  Reader reader;
  if (!input_schema.empty() && input_schema.front() == '{') reader.schema(input_schema, true);
  if (!reader.fault.empty()) return lineward::fail(std::move(reader.fault));
  return std::move(reader.found);
}

HeaderPairs make_param_headers(const ParamHeaders& params, std::string_view arguments) {
  HeaderPairs out;
  for (const ParamHeader& param : params) {
    auto raw = argument(arguments, param.path);
    auto text = raw ? text_of(*raw) : std::nullopt;
    if (text) out.emplace_back(param.header, encode_header_value(*text));
  }
  return out;
}

std::string param_header_fault(const ParamHeaders& params, std::string_view arguments,
                               const HeaderPairs& headers) {
  for (const ParamHeader& param : params) {
    auto raw = argument(arguments, param.path);
    auto text = raw ? text_of(*raw) : std::nullopt;
    if (!text) continue;
    const std::string* value = nullptr;
    for (const auto& [name, one] : headers) {
      if (!same_name(name, param.header)) continue;
      if (value != nullptr) return fmt::format("the {} header stands there twice", param.header);
      value = &one;
    }
    if (value == nullptr) return fmt::format("the {} header is missing", param.header);
    auto decoded = decode_header_value(*value);
    if (!decoded) return fmt::format("the {} header is no valid encoded value", param.header);
    bool is_number = raw->front() == '-' || (raw->front() >= '0' && raw->front() <= '9');
    bool numbers = is_number && param.type == ParamType::integer && is_decimal(*decoded);
    if (numbers ? number(*decoded) != number(*text) : *decoded != *text)
      return fmt::format("the {} header differs from the argument in the body", param.header);
  }
  return {};
}

}  // namespace lineward::mcp
