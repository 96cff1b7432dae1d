#include "operate/mcp_client/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "config/options/names.h"
#include "config/options/read_value.h"
#include "config/options/text_check.h"
#include "foundation/json/json_document.h"

namespace lineward::mcp_client {
namespace {

using config::clip;
using nlohmann::json;

constexpr int kMaxRefs = 10;  // consecutive $refs
constexpr size_t kShownChoices = 12;

const json& nothing() {
  static const json empty = json::object();
  return empty;
}

// Follows a $ref into the same document.
const json& resolved(const json& schema, const json& root) {
  const json* at = &schema;
  for (int i = 0; i < kMaxRefs && at->is_object(); ++i) {
    auto ref = at->find("$ref");
    if (ref == at->end() || !ref->is_string()) return *at;
    const std::string& text = ref->get_ref<const std::string&>();
    if (text.rfind("#/", 0) != 0) return nothing();
    const json* to = &root;
    for (size_t begin = 2; begin <= text.size();) {
      const size_t end = std::min(text.find('/', begin), text.size());
      auto found = to->is_object() ? to->find(text.substr(begin, end - begin)) : to->end();
      if (!to->is_object() || found == to->end()) return nothing();
      to = &*found;
      begin = end + 1;
    }
    at = to;
  }
  return at->is_object() ? *at : nothing();
}

std::vector<std::string> types_of(const json& schema) {
  std::vector<std::string> types;
  auto type = schema.find("type");
  if (type == schema.end()) return types;
  if (type->is_string()) types.push_back(type->get<std::string>());
  if (type->is_array()) {
    for (const json& one : *type) {
      if (one.is_string()) types.push_back(one.get<std::string>());
    }
  }
  return types;
}

// anyOf and oneOf are alternatives, like a list of types.
const json* alternatives(const json& schema) {
  for (const char* key : {"anyOf", "oneOf"}) {
    auto found = schema.find(key);
    if (found != schema.end() && found->is_array() && !found->empty()) return &*found;
  }
  return nullptr;
}

std::optional<json> as_type(const std::string& type, const json& parsed, std::string_view text) {
  const bool fits = (type == "integer" && parsed.is_number_integer()) ||
                    (type == "number" && parsed.is_number()) || (type == "boolean" && parsed.is_boolean()) ||
                    (type == "null" && parsed.is_null()) || (type == "object" && parsed.is_object()) ||
                    (type == "array" && parsed.is_array());
  if (fits) return json(parsed);
  // 3.0 is an integer in JSON Schema.
  if (type == "integer" && parsed.is_number_float()) {
    const double number = parsed.get<double>();
    if (number >= -9e15 && number <= 9e15 && number == static_cast<double>(static_cast<int64_t>(number)))
      return json(static_cast<int64_t>(number));
  }
  if (type == "string") return json(std::string(text));
  return std::nullopt;
}

bool allowed(const json& schema, const json& value) {
  auto choices = schema.find("enum");
  if (choices == schema.end() || !choices->is_array()) return true;
  return std::find(choices->begin(), choices->end(), value) != choices->end();
}

std::string choice_words(const json& schema) {
  auto choices = schema.find("enum");
  if (choices == schema.end() || !choices->is_array() || choices->empty()) return {};
  std::string out;
  for (size_t i = 0; i < std::min(choices->size(), kShownChoices); ++i)
    out += (i == 0 ? "" : " | ") + (*choices)[i].dump(-1, ' ', false, json::error_handler_t::replace);
  if (choices->size() > kShownChoices) out += fmt::format(" | … {} more", choices->size() - kShownChoices);
  return out;
}

Unexpected<Error> misfit(const json& schema, const json& root, std::string_view text) {
  std::string hint;
  if (auto choices = schema.find("enum"); choices != schema.end() && choices->is_array()) {
    std::vector<std::string_view> words;
    for (const json& one : *choices) {
      if (one.is_string()) words.push_back(one.get_ref<const std::string&>());
    }
    const std::string_view likely = config::nearest(text, words);
    if (!likely.empty()) hint = fmt::format("; did you mean '{}'?", clip(likely));
  }
  const std::string types = type_words(schema, root);
  const bool vowel = types.find_first_of("aeio") == 0;
  return fail(fmt::format("'{}' is {} {}{}", clip(text),
                          schema.contains("enum") ? "none of"
                          : vowel                 ? "not an"
                                                  : "not a",
                          types, hint));
}

// JSON cannot carry other bytes: the server would receive different ones.
Status<> check_utf8(std::string_view text, std::string_view what) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = config::utf8_length(text.substr(at, 4));
    if (length == 0)
      return fail(fmt::format("byte {} of {} is no UTF-8; encode it (as base64, for one)", at + 1, what));
    at += length;
  }
  return Done{};
}

// The text of k=@file. "@@v" is "@v".
Result<std::string> given_text(std::string_view value, const ReadFile& read) {
  if (value.empty() || value[0] != '@') return std::string(value);
  if (value.size() > 1 && value[1] == '@') return std::string(value.substr(1));
  auto text = read(std::string(value.substr(1)));
  if (!text) return fail(text.error().text);
  if (auto good = check_utf8(*text, value == "@-" ? "stdin" : clip(value.substr(1))); !good)
    return fail(good.error().text);
  return *text;
}

bool is_list(const json& schema) {
  const std::vector<std::string> types = types_of(schema);
  return std::find(types.begin(), types.end(), "array") != types.end();
}

const json& items_of(const json& schema) {
  auto items = schema.find("items");
  return items != schema.end() && items->is_object() ? *items : nothing();
}

// Rejects an unknown name when others are defined: most likely a typo.
Status<> check_name(const std::string& name, const json& schema) {
  auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object() || properties->contains(name)) return Done{};
  auto more = schema.find("additionalProperties");
  const bool closed = more != schema.end() && *more == false;
  std::vector<std::string_view> names;
  for (auto it = properties->begin(); it != properties->end(); ++it)
    names.push_back(it.key());
  const std::string_view likely = config::nearest(name, names);
  if (!closed && likely.empty()) return Done{};
  const std::string hint = !likely.empty() ? fmt::format("did you mean '{}'?", clip(likely))
                           : names.empty()
                               ? std::string("it takes none")
                               : fmt::format("it takes {}", clip(fmt::format("{}", fmt::join(names, ", "))));
  return fail(fmt::format("the tool has no argument '{}'; {}", clip(name), hint));
}

}  // namespace

const json& property(const json& schema, const std::string& name) {
  auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return nothing();
  auto found = properties->find(name);
  return found == properties->end() || !found->is_object() ? nothing() : resolved(*found, schema);
}

bool is_required(const json& schema, const std::string& name) {
  auto required = schema.find("required");
  return required != schema.end() && required->is_array() &&
         std::find(required->begin(), required->end(), json(name)) != required->end();
}

std::vector<std::string> property_names(const json& schema, size_t most) {
  std::vector<std::string> names;
  auto properties = schema.find("properties");
  if (properties == schema.end() || !properties->is_object()) return names;
  for (auto it = properties->begin(); it != properties->end(); ++it)
    names.push_back(it.key());
  std::stable_partition(names.begin(), names.end(),
                        [&](const std::string& name) { return is_required(schema, name); });
  if (names.size() > most) names.resize(most);
  return names;
}

std::string type_words(const json& given, const json& root) {
  const json& schema = resolved(given, root);
  if (std::string choices = choice_words(schema); !choices.empty()) return choices;
  if (auto fixed = schema.find("const"); fixed != schema.end())
    return fixed->dump(-1, ' ', false, json::error_handler_t::replace);
  std::string out;
  auto add = [&](const std::string& word) {
    if (!word.empty()) out += (out.empty() ? "" : " | ") + word;
  };
  for (const std::string& type : types_of(schema)) {
    const json& items = resolved(items_of(schema), root);
    const std::vector<std::string> inner = types_of(items);
    // Item types of nested lists are omitted.
    add(type == "array" && inner.size() == 1 ? inner[0] + "[]" : type);
  }
  if (const json* all = alternatives(schema); out.empty() && all != nullptr) {
    for (size_t i = 0; i < std::min(all->size(), kShownChoices); ++i) {
      const json& one = resolved((*all)[i], root);
      const std::string choices = choice_words(one);
      add(choices.empty() ? fmt::format("{}", fmt::join(types_of(one), " | ")) : choices);
    }
  }
  return out.empty() ? "any" : out;
}

Result<json> typed_value(const json& given, const json& root, std::string_view text) {
  const json& schema = resolved(given, root);
  const json parsed = lineward::json::parse_document(text);
  std::vector<std::string> types = types_of(schema);
  if (const json* all = alternatives(schema); types.empty() && all != nullptr) {
    for (const json& one : *all) {
      for (std::string& type : types_of(resolved(one, root)))
        types.push_back(std::move(type));
    }
  }
  if (types.empty()) {
    json value = parsed.is_discarded() ? json(std::string(text)) : parsed;
    if (allowed(schema, value)) return value;
    value = std::string(text);
    if (allowed(schema, value)) return value;
    return misfit(schema, root, text);
  }
  // A text that could be a number is one if both are allowed; string is tried last.
  std::stable_partition(types.begin(), types.end(), [](const std::string& type) { return type != "string"; });
  for (const std::string& type : types) {
    auto value = as_type(type, parsed, text);
    if (value && allowed(schema, *value)) return *value;
  }
  return misfit(schema, root, text);
}

Result<json> with_words(json arguments, const std::vector<std::string>& words, const json& schema,
                        const ReadFile& read) {
  std::vector<std::string> lists;  // lists that were begun here
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(fmt::format("'{}' is no argument: write name=value", clip(word)));
    const std::string name = word.substr(0, equals);
    if (auto good = check_utf8(word, fmt::format("'{}'", clip(word))); !good) return fail(good.error().text);
    if (auto known = check_name(name, schema); !known) return fail(known.error().text);
    auto text = given_text(std::string_view(word).substr(equals + 1), read);
    if (!text) return fail(fmt::format("{}: {}", clip(name), text.error().text));
    const json& wanted = property(schema, name);
    auto value = typed_value(wanted, schema, *text);
    const bool begun = std::find(lists.begin(), lists.end(), name) != lists.end();
    if (is_list(wanted) && (begun || !value || !value->is_array())) {
      auto item = typed_value(items_of(wanted), schema, *text);
      if (!item) return fail(fmt::format("{}: {}", clip(name), item.error().text));
      if (!begun) {
        if (arguments.contains(name)) return fail(fmt::format("{} is given twice", clip(name)));
        arguments[name] = json::array();
        lists.push_back(name);
      }
      arguments[name].push_back(std::move(*item));
      continue;
    }
    if (!value) return fail(fmt::format("{}: {}", clip(name), value.error().text));
    if (arguments.contains(name)) return fail(fmt::format("{} is given twice", clip(name)));
    arguments[name] = std::move(*value);
  }
  return arguments;
}

std::vector<std::string> missing(const json& arguments, const json& schema) {
  std::vector<std::string> out;
  auto required = schema.find("required");
  if (required == schema.end() || !required->is_array()) return out;
  for (const json& one : *required) {
    if (!one.is_string() || arguments.contains(one.get_ref<const std::string&>())) continue;
    const std::string& name = one.get_ref<const std::string&>();
    const json& wanted = property(schema, name);
    auto about = wanted.find("description");
    std::string line = fmt::format("{} ({})", clip(name), type_words(wanted, schema));
    if (about != wanted.end() && about->is_string())
      line += ": " + clip(about->get_ref<const std::string&>());
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace lineward::mcp_client
