#include "protocol/mcp/param_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "foundation/base/is_among.h"
#include "foundation/json/json_member.h"
#include "foundation/json/json_walk.h"
#include "protocol/mcp/header_value.h"

namespace lineward::mcp {
namespace {

constexpr std::string_view kAnnotation = "x-mcp-header";
constexpr std::string_view kPrefix = "Mcp-Param-";
constexpr size_t kMaxNameBytes = 100;
constexpr size_t kMaxPathBytes = 4096;  // of all names on the path to one parameter
constexpr int64_t kSafeInteger = (1ll << 53) - 1;

// Header names that differ in case only are equal.
std::string lower(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

// Keywords with data as values, not schemas: an annotation inside has no effect.
bool holds_data(std::string_view keyword) {
  static constexpr std::array<std::string_view, 4> kWords{"default", "const", "enum", "examples"};
  return is_among(kWords, keyword);
}

// Keywords that contain schemas by name, not keywords.
bool holds_schemas_by_name(std::string_view keyword) {
  static constexpr std::array<std::string_view, 5> kWords{"properties", "patternProperties",
                                                          "dependentSchemas", "$defs", "definitions"};
  return is_among(kWords, keyword);
}

// Walks a schema once. `path_` is the current path while only `properties` led there; below any other keyword
// an annotation makes the definition invalid. The text was validated with a depth limit, which bounds the
// recursion too.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), cursor_(text, json::kDepthCeiling) { schema(true); }

  ParamHeaders found;
  std::string fault;

 private:
  void schema(bool reachable) {
    json::Span annotation;
    std::optional<std::string> type;
    json::walk_members(cursor_, text_, [&](std::string_view key, json::Span) {
      if (key == kAnnotation) {
        cursor_.skip(annotation);
      } else if (key == "type") {
        type = json::walk_string(cursor_, text_);
      } else if (holds_schemas_by_name(key)) {
        named(reachable && key == "properties");
      } else if (holds_data(key) || !fault.empty()) {
        pass();
      } else {
        below();
      }
    });
    if (annotation && fault.empty()) annotated(annotation.in(text_), type.value_or(""), reachable);
  }

  void named(bool reachable) {
    if (!cursor_.at_object()) return pass();
    json::walk_members(cursor_, text_, [&](std::string_view name, json::Span) {
      if (!fault.empty() || !cursor_.at_object()) return pass();
      // The name is a view of the text, or of a copy that lives until this member has been walked.
      path_.push_back(name);
      path_bytes_ += name.size();
      schema(reachable);
      path_bytes_ -= name.size();
      path_.pop_back();
    });
  }

  void below() {
    if (cursor_.at_object()) return schema(false);
    if (!cursor_.at_array()) return pass();
    json::walk_elements(cursor_, [&] { below(); });
  }

  void pass() {
    json::Span value;
    cursor_.skip(value);
  }

  void annotated(std::string_view raw, const std::string& type, bool reachable) {
    std::string name = json::string_value(raw);
    if (!reachable || path_.empty()) {
      fault = "x-mcp-header stands where a chain of properties does not lead";
    } else if (!is_token(name) || name.size() > kMaxNameBytes) {
      fault = "x-mcp-header is no header name";
    } else if (type != "string" && type != "integer" && type != "boolean") {
      fault = "x-mcp-header stands at a parameter that is no string, integer or boolean";
    } else if (found.size() == kMaxParamHeaders) {
      fault = fmt::format("more than {} parameters have x-mcp-header", kMaxParamHeaders);
    } else if (path_bytes_ > kMaxPathBytes) {
      fault =
          fmt::format("x-mcp-header stands at a parameter with names of more than {} bytes", kMaxPathBytes);
    } else {
      std::string header = std::string(kPrefix) + name;
      if (!headers_.insert(lower(header)).second) fault = "two parameters have the same x-mcp-header";
      ParamType kind = type == "string"    ? ParamType::string
                       : type == "integer" ? ParamType::integer
                                           : ParamType::boolean;
      found.push_back({{path_.begin(), path_.end()}, std::move(header), kind});
    }
  }

  std::string_view text_;
  json::Cursor cursor_;
  std::vector<std::string_view> path_;
  size_t path_bytes_ = 0;
  std::set<std::string> headers_;
};

// The arguments at the ends of all paths, found in one pass over the text. The first of duplicate names is
// used, and the duplicate is recorded.
class Arguments {
 public:
  Arguments(const ParamHeaders& params, std::string_view text)
      : params_(params), text_(text), cursor_(text, json::kDepthCeiling), values_(params.size()) {
    std::vector<size_t> all(params.size());
    std::iota(all.begin(), all.end(), size_t{0});
    if (!all.empty() && cursor_.at_object()) object(all, 0);
  }

  // The raw value for params[i]; empty when absent or null.
  std::optional<std::string_view> of(size_t i) const {
    if (!values_[i] || values_[i].in(text_) == "null") return std::nullopt;
    return values_[i].in(text_);
  }

  // A parameter with an ambiguous value.
  std::optional<size_t> twice() const { return twice_; }

 private:
  using Which = std::vector<size_t>;

  void object(const Which& which, size_t level) {
    std::map<std::string_view, std::pair<Which, bool>> wanted;  // and whether it was found
    for (size_t i : which)
      wanted[params_[i].path[level]].first.push_back(i);
    json::walk_members(cursor_, text_, [&](std::string_view name, json::Span) {
      auto found = wanted.find(name);
      if (found == wanted.end()) return pass();
      auto& [here, seen] = found->second;
      if (std::exchange(seen, true)) {
        if (!twice_) twice_ = here.front();
        return pass();
      }
      value(here, level + 1);
    });
  }

  void value(const Which& which, size_t level) {
    Which deeper;
    for (size_t i : which) {
      if (params_[i].path.size() > level) deeper.push_back(i);
    }
    json::Span whole;
    if (!deeper.empty() && cursor_.at_object()) {
      whole.begin = cursor_.offset();
      object(deeper, level);
      whole.end = cursor_.offset();
    } else {
      cursor_.skip(whole);
    }
    for (size_t i : which) {
      if (params_[i].path.size() == level) values_[i] = whole;
    }
  }

  void pass() {
    json::Span value;
    cursor_.skip(value);
  }

  const ParamHeaders& params_;
  std::string_view text_;
  json::Cursor cursor_;
  std::vector<json::Span> values_;
  std::optional<size_t> twice_;
};

std::string fault_of(const Arguments& given, const ParamHeaders& params) {
  const auto twice = given.twice();
  return twice ? fmt::format("the argument for {} stands there twice", params[*twice].header) : std::string();
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// An integer as JavaScript would write it; other numbers unchanged.
std::optional<std::string> number_text(std::string_view raw) {
  int64_t whole = 0;
  auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), whole);
  if (error == std::errc() && end == raw.data() + raw.size()) {
    if (whole > kSafeInteger || whole < -kSafeInteger) return std::nullopt;
    return std::to_string(whole);
  }
  auto value = number(raw);
  if (!value) return std::nullopt;
  constexpr auto kMaxWhole = static_cast<double>(kSafeInteger);
  if (!(*value <= kMaxWhole && *value >= -kMaxWhole)) return std::nullopt;
  if (*value != static_cast<double>(static_cast<int64_t>(*value))) return std::string(raw);
  return std::to_string(static_cast<int64_t>(*value));
}

// A string, number or boolean as text; empty for values without a header.
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
  if (input_schema.empty() || input_schema.front() != '{') return ParamHeaders{};
  Reader reader(input_schema);
  if (!reader.fault.empty()) return lineward::fail(std::move(reader.fault));
  return std::move(reader.found);
}

HeaderPairs make_param_headers(const ParamHeaders& params, std::string_view arguments) {
  HeaderPairs out;
  const Arguments given(params, arguments);
  for (size_t i = 0; i < params.size(); ++i) {
    auto raw = given.of(i);
    auto text = raw ? text_of(*raw) : std::nullopt;
    if (text) out.emplace_back(params[i].header, encode_header_value(*text));
  }
  return out;
}

std::string argument_fault(const ParamHeaders& params, std::string_view arguments) {
  return fault_of(Arguments(params, arguments), params);
}

std::string param_header_fault(const ParamHeaders& params, std::string_view arguments,
                               const HeaderPairs& headers) {
  std::multimap<std::string, const std::string*> by_name;
  for (const auto& [name, value] : headers)
    by_name.emplace(lower(name), &value);
  const Arguments given(params, arguments);
  if (std::string fault = fault_of(given, params); !fault.empty()) return fault;
  for (size_t i = 0; i < params.size(); ++i) {
    const ParamHeader& param = params[i];
    auto raw = given.of(i);
    auto text = raw ? text_of(*raw) : std::nullopt;
    if (!text) continue;
    auto [first, last] = by_name.equal_range(lower(param.header));
    if (first == last) return fmt::format("the {} header is missing", param.header);
    const std::string& value = *first->second;
    if (++first != last) return fmt::format("the {} header stands there twice", param.header);
    auto decoded = decode_header_value(value);
    if (!decoded) return fmt::format("the {} header is no valid encoded value", param.header);
    bool is_number = raw->front() == '-' || (raw->front() >= '0' && raw->front() <= '9');
    bool numbers = is_number && param.type == ParamType::integer && is_decimal(*decoded);
    if (numbers ? number(*decoded) != number(*text) : *decoded != *text)
      return fmt::format("the {} header differs from the argument in the body", param.header);
  }
  return {};
}

}  // namespace lineward::mcp
