#include "protocol/mcp/tool_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "foundation/base/is_among.h"
#include "foundation/json/json_at.h"
#include "foundation/json/json_bytes.h"
#include "foundation/json/json_splice.h"

namespace lineward::mcp {
namespace {

using json::Span;

constexpr size_t kMaxNotes = 4;
constexpr size_t kMaxPointer = 1024;

// The kind of value below a keyword (JSON Schema 2020-12, and `definitions`, `dependencies`,
// `additionalItems` of older drafts). Everything else is data: a "$ref" in it is no reference.
enum class Below : uint8_t { data, schema, list, map };

Below below(std::string_view key) {
  static constexpr std::array<std::string_view, 13> kSchemas{"additionalProperties",
                                                             "additionalItems",
                                                             "unevaluatedProperties",
                                                             "unevaluatedItems",
                                                             "items",
                                                             "contains",
                                                             "propertyNames",
                                                             "not",
                                                             "if",
                                                             "then",
                                                             "else",
                                                             "contentSchema",
                                                             "prefixItems"};
  static constexpr std::array<std::string_view, 3> kLists{"allOf", "anyOf", "oneOf"};
  static constexpr std::array<std::string_view, 6> kMaps{
      "properties", "patternProperties", "dependentSchemas", "definitions", "$defs", "dependencies"};
  if (is_among(kSchemas, key)) return Below::schema;
  if (is_among(kLists, key)) return Below::list;
  return is_among(kMaps, key) ? Below::map : Below::data;
}

// Keywords by which something may refer to a definition in another way.
bool refers_otherwise(std::string_view key) {
  static constexpr std::array<std::string_view, 4> kKeys{"$dynamicRef", "$recursiveRef", "$anchor",
                                                         "$dynamicAnchor"};
  return is_among(kKeys, key);
}

// A token of a JSON pointer in a URI fragment (RFC 6901, section 6).
std::string decoded_token(std::string_view token) {
  std::string plain;
  for (size_t i = 0; i < token.size(); ++i) {
    const int high = token[i] == '%' && i + 2 < token.size() ? json::hex_value(token[i + 1]) : -1;
    const int low = high >= 0 ? json::hex_value(token[i + 2]) : -1;
    if (low >= 0) {
      plain += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      plain += token[i];
    }
  }
  std::string out;
  for (size_t i = 0; i < plain.size(); ++i) {
    const bool escape = plain[i] == '~' && i + 1 < plain.size();
    if (escape && plain[i + 1] == '0') {
      out += '~';
    } else if (escape && plain[i + 1] == '1') {
      out += '/';
    } else {
      out += plain[i];
      continue;
    }
    ++i;
  }
  return out;
}

struct Entry {
  std::string key;
  std::string_view raw_key;  // between its quotes
  Span value;
};

class Resolver {
 public:
  enum class Definitions : uint8_t { dropped, kept };
  Resolver(std::string_view text, Definitions definitions, SchemaBudget& budget)
      : text_(text), definitions_(definitions), budget_(budget) {}

  // The schema with its local references resolved; nullopt: a bound was met.
  std::optional<std::string> resolve() {
    write_schema(whole(), 0);
    return failed_ ? std::nullopt : std::optional(std::move(out_));
  }
  bool has_changed() const { return refs_ > 0; }
  // Does something still refer to a definition?
  bool refers() const { return refers_; }
  std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  Span whole() const { return {0, static_cast<uint32_t>(text_.size())}; }
  static std::string too_large() {
    return fmt::format("its references stay: resolved it would be larger than {} bytes", kMaxSchemaBytes);
  }

  void fail(std::string why) {
    if (!failed_) notes_.insert(notes_.begin(), std::move(why));
    failed_ = true;
  }
  void note(std::string_view what, const std::string& pointer) {
    if (notes_.size() < kMaxNotes) notes_.push_back(fmt::format("{}: {}", what, pointer.substr(0, 128)));
  }
  bool spend(size_t bytes) {
    if (failed_) return false;
    if (bytes > budget_.work) {
      budget_.work = 0;
      fail(fmt::format("its references stay: the schemas of this page take more work than {} bytes",
                       kMaxSchemaWork));
      return false;
    }
    budget_.work -= bytes;
    return true;
  }
  void put(std::string_view text) {
    if (!spend(text.size())) return;
    out_ += text;
    if (out_.size() > kMaxSchemaBytes) fail(too_large());
  }

  static bool is_definitions(std::string_view key) { return key == "$defs" || key == "definitions"; }

  std::vector<Entry> members(Span object) {
    std::vector<Entry> out;
    if (!spend(object.size())) return out;
    json::for_each_member_at(text_, object, [&](const std::string& key, Span raw, Span value) {
      out.push_back({key, raw.in(text_), value});
    });
    if (!spend(out.size() * sizeof(Entry))) out.clear();
    return out;
  }

  void write_schema(Span at, int depth) {
    if (failed_ || text_[at.begin] != '{') return put(at.in(text_));
    if (depth > kMaxSchemaDepth) {
      return fail(
          fmt::format("its references stay: resolved it would be deeper than {} levels", kMaxSchemaDepth));
    }
    std::vector<Entry> all = members(at);
    const size_t open = being_written_.size();
    being_written_.push_back(at.begin);
    resolve_into(all);
    if (definitions_ == Definitions::dropped)
      std::erase_if(all, [](const Entry& entry) { return is_definitions(entry.key); });
    put("{");
    bool first = true;
    for (const Entry& entry : all) {
      if (failed_) break;
      if (!first) put(",");
      first = false;
      put("\"");
      put(entry.raw_key);
      put("\":");
      write_value(entry, depth);
    }
    put("}");
    being_written_.resize(open);
  }

  // Replaces the local reference among the members by the members of its target. A keyword beside
  // the reference outranks the target's.
  void resolve_into(std::vector<Entry>& all) {
    for (;;) {
      auto ref = std::find_if(all.begin(), all.end(), [&](const Entry& entry) {
        return entry.key == "$ref" && json::is_string_at(text_, entry.value);
      });
      if (ref == all.end() || failed_) break;
      const std::string pointer = json::string_at(text_, ref->value);
      if (pointer.empty() || pointer.front() != '#') {
        note("a reference to elsewhere stays", pointer);
        refers_ = true;
        break;
      }
      const Span target = find(pointer);
      if (!target) {
        if (!failed_) note("a reference to nothing stays", pointer);
        refers_ = true;
        break;
      }
      if (++refs_ > kMaxSchemaRefs) {
        return fail(fmt::format("its references stay: there are more than {}", kMaxSchemaRefs));
      }
      all.erase(ref);
      const bool recursive =
          std::find(being_written_.begin(), being_written_.end(), target.begin) != being_written_.end();
      if (recursive) {
        note("a recursive reference became {}", pointer);
        continue;
      }
      being_written_.push_back(target.begin);
      merge(all, target);
    }
    for (const Entry& entry : all)
      refers_ = refers_ || refers_otherwise(entry.key);
  }

  void merge(std::vector<Entry>& all, Span target) {
    if (!spend(all.size() * sizeof(Entry))) return;
    std::vector<Entry> more;
    if (text_[target.begin] == '{') {
      more = members(target);
    } else if (target.in(text_) == "false") {
      more.push_back({"not", "not", {}});
    }
    std::set<std::string> given;  // ordered: a server could choose keys that collide in a hash table
    for (const Entry& entry : all)
      given.insert(entry.key);
    for (Entry& entry : more) {
      if (given.count(entry.key) == 0) all.push_back(std::move(entry));
    }
  }

  void write_value(const Entry& entry, int depth) {
    if (!entry.value) return put("{}");  // of a schema that allows nothing: {"not":{}}
    if (is_definitions(entry.key)) return put(entry.value.in(text_));
    const char begins = text_[entry.value.begin];
    switch (below(entry.key)) {
      case Below::schema:
        return begins == '[' ? write_list(entry.value, depth) : write_schema(entry.value, depth + 1);
      case Below::list: return write_list(entry.value, depth);
      case Below::map: return write_map(entry.value, depth);
      case Below::data: return put(entry.value.in(text_));
    }
  }

  void write_list(Span at, int depth) {
    if (text_[at.begin] != '[' || !spend(at.size())) return put(at.in(text_));
    std::vector<Span> elements;
    json::for_each_element_at(text_, at, [&](Span element) { elements.push_back(element); });
    put("[");
    for (size_t i = 0; i < elements.size() && !failed_; ++i) {
      if (i > 0) put(",");
      write_schema(elements[i], depth + 1);
    }
    put("]");
  }

  void write_map(Span at, int depth) {
    if (text_[at.begin] != '{') return put(at.in(text_));
    const std::vector<Entry> all = members(at);
    put("{");
    for (size_t i = 0; i < all.size() && !failed_; ++i) {
      put(i > 0 ? ",\"" : "\"");
      put(all[i].raw_key);
      put("\":");
      write_schema(all[i].value, depth + 1);
    }
    put("}");
  }

  // The value that a local reference points to, remembered by its text.
  Span find(const std::string& pointer) {
    if (pointer == "#") return whole();
    if (pointer.size() > kMaxPointer || pointer[1] != '/') return {};
    auto known = found_.find(pointer);
    if (known != found_.end()) return known->second;
    Span at = whole();
    for (size_t begin = 2; at && begin <= pointer.size();) {
      const size_t end = std::min(pointer.find('/', begin), pointer.size());
      if (!spend(at.size())) return {};
      const std::string token = decoded_token(std::string_view(pointer).substr(begin, end - begin));
      at = text_[at.begin] == '[' ? element_at(at, token) : json::member_at(text_, at, token);
      begin = end + 1;
    }
    found_.emplace(pointer, at);
    return at;
  }

  Span element_at(Span array, const std::string& token) {
    Span out;
    size_t index = 0;
    json::for_each_element_at(text_, array, [&](Span element) {
      if (std::to_string(index++) == token) out = element;
    });
    return out;
  }

  std::string_view text_;
  Definitions definitions_;
  SchemaBudget& budget_;
  std::string out_;
  std::map<std::string, Span> found_;
  std::vector<uint32_t> being_written_;  // the schemas around this place, and their targets, by their places
  std::vector<std::string> notes_;
  size_t refs_ = 0;
  bool refers_ = false;
  bool failed_ = false;
};

bool may_refer(std::string_view schema) {
  return schema.find("$ref") != std::string_view::npos || schema.find("\\u") != std::string_view::npos;
}

// `type` and `properties` of the whole schema; empty: they are right.
std::string with_object(std::string_view schema) {
  const Span whole{0, static_cast<uint32_t>(schema.size())};
  json::Splice splice(schema);
  bool has_type = false, has_properties = false;
  json::for_each_member_at(schema, whole, [&](const std::string& key, Span, Span value) {
    if (key == "type") {
      if (json::string_at(schema, value) != "object") splice.replace(value, R"("object")");
      has_type = true;
    } else if (key == "properties") {
      if (schema[value.begin] != '{') splice.replace(value, "{}");
      has_properties = true;
    }
  });
  if (!has_properties) splice.add_member(whole, "properties", "{}");
  if (!has_type) splice.add_member(whole, "type", R"("object")");
  return splice.empty() ? std::string() : splice.apply();
}

}  // namespace

RepairedSchema repaired_schema(std::string_view schema, SchemaBudget& budget) {
  RepairedSchema out;
  if (schema.empty() || schema.front() != '{') {
    out.text = std::string(kEmptySchema);
    return out;
  }
  if (may_refer(schema)) {
    using Definitions = Resolver::Definitions;
    Resolver resolver(schema, Definitions::dropped, budget);
    std::optional<std::string> text = resolver.resolve();
    out.notes = resolver.take_notes();
    if (text && resolver.has_changed() && resolver.refers()) {
      // Something still refers to definitions, and needs them.
      Resolver keeping(schema, Definitions::kept, budget);
      text = keeping.resolve();
      out.notes = keeping.take_notes();
    }
    if (resolver.has_changed()) out.text = std::move(text);
  }
  if (std::string text = with_object(out.text ? std::string_view(*out.text) : schema); !text.empty())
    out.text = std::move(text);
  return out;
}

}  // namespace lineward::mcp
