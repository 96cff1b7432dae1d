#include "config/options/options_schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "config/options/auth_options.h"
#include "config/options/names.h"
#include "config/options/options.h"
#include "config/options/read_value.h"

namespace lineward::config {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// An object's members in the order of the table.
class Members {
 public:
  Members& add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{}{}:{}", text_.empty() ? "" : ",\n", in_quotes(name), value);
    return *this;
  }
  std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

// A placeholder that is expanded when the file is loaded: ${env:NAME}, ${file:/path}, ${NAME:-else}.
constexpr std::string_view kVariable = R"({"type":"string","pattern":"\\$\\{.+\\}"})";
constexpr std::string_view kScalar = R"({"type":["string","number","boolean","null"]})";

std::string alternatives(std::initializer_list<std::string_view> schemas) {
  return fmt::format(R"("anyOf":[{}])", fmt::join(schemas, ","));
}

std::string choices_of(const Option& option) {
  std::string out = "null";
  std::string_view rest = option.choices;
  while (!rest.empty()) {
    const size_t bar = rest.find('|');
    const std::string word(rest.substr(0, bar));
    out += "," + in_quotes(word);
    // In YAML an unquoted 1.2 is a number.
    if (word.find_first_not_of("0123456789.") == std::string::npos) out += "," + word;
    rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
  }
  return fmt::format(R"({{"enum":[{}]}})", out);
}

std::string type_of(const Option& option) {
  const bool ranged = option.least != 0 || option.most != 0;
  const std::string range =
      ranged ? fmt::format(R"(,"minimum":{},"maximum":{})", option.least, option.most) : R"(,"minimum":0)";
  switch (option.kind) {
    case Kind::duration:
      return alternatives(
          {R"({"type":["string","null"],"pattern":"^([0-9]+(\\.[0-9]+)?(d|h|m|s|ms))+$"})", kVariable});
    case Kind::size:
      return alternatives({R"({"type":["string","null"],"pattern":"^[0-9]+(\\.[0-9]+)?(B|KiB|MiB|GiB)?$"})",
                           fmt::format(R"({{"type":"integer"{}}})", range), kVariable});
    case Kind::count:
      return alternatives({fmt::format(R"({{"type":["integer","null"]{}}})", range),
                           fmt::format(R"({{"type":"string","pattern":"^(0|[1-9][0-9]*{})$"}})",
                                       option.choices.empty() ? "" : fmt::format("|{}", option.choices)),
                           kVariable});
    case Kind::flag: return alternatives({R"({"enum":[null,true,false,"true","false"]})", kVariable});
    case Kind::choice: return alternatives({choices_of(option), kVariable});
    case Kind::text: return R"("type":["string","number","boolean","null"])";
    case Kind::list: return fmt::format(R"("type":["array","null"],"items":{})", kScalar);
    case Kind::map: return fmt::format(R"("type":["object","null"],"additionalProperties":{})", kScalar);
    case Kind::names:
      return alternatives(
          {R"({"enum":[null,true,false]})", fmt::format(R"({{"type":"array","items":{}}})", kScalar)});
  }
  return R"("type":"null")";
}

std::string about(const Option& option) {
  std::string text(option.help);
  if (!option.fallback.empty()) text += fmt::format(" Default: {}.", option.fallback);
  if (option.least != 0 || option.most != 0)
    text += fmt::format(" From {} to {}.", spell_bound(option.kind, option.least),
                        spell_bound(option.kind, option.most));
  return text;
}

std::string schema_of(const Option& option) {
  return fmt::format(R"({{"description":{},{}}})", in_quotes(about(option)), type_of(option));
}

// Options by name, with nested groups.
struct Group {
  std::string name;
  std::vector<Group> children;
  const Option* option = nullptr;

  Group& child(std::string_view wanted) {
    auto found =
        std::find_if(children.begin(), children.end(), [&](const Group& one) { return one.name == wanted; });
    if (found != children.end()) return *found;
    children.emplace_back();
    children.back().name = wanted;
    return children.back();
  }
  void add(std::string_view path, const Option& row) {
    const size_t dot = path.find('.');
    Group& below = child(path.substr(0, dot));
    if (dot == std::string_view::npos) {
      below.option = &row;
    } else {
      below.add(path.substr(dot + 1), row);
    }
  }
};

std::string object_of(const Members& properties, std::string_view more = {}) {
  return fmt::format(R"({{"type":["object","null"],"additionalProperties":false,"properties":{}{}}})",
                     properties.object(), more);
}

// A list of maps: not a row of the table (config/reader/tls.cc).
constexpr std::string_view kCertificates =
    R"({"description":"Further certificates; the name that the client asks for (SNI) chooses.",)"
    R"("type":["array","null"],"items":{"type":"object","additionalProperties":false,"required":["certificate"],)"
    R"("properties":{"certificate":{"type":"string"},"key":{"type":"string"},"ocsp":{"type":"string"}}}})";

// Likewise (config/reader/server_reader.cc).
constexpr std::string_view kUrls =
    R"({"description":"Several addresses of a server over Streamable HTTP, in place of url.",)"
    R"("type":["array","null"],"maxItems":64,"items":{"anyOf":[{"type":"string"},{"type":"object",)"
    R"("additionalProperties":false,"required":["url"],"properties":{"url":{"type":"string"},)"
    R"("weight":{"type":"integer","minimum":1,"maximum":1000},"drain":{"type":"boolean"}}}]}})";

std::string schema_of(const Group& group);

Members members_of(const Group& group) {
  Members members;
  for (const Group& below : group.children) {
    members.add(below.name, schema_of(below));
    if (below.option != nullptr && below.option->path == "listen.tls.ocsp")
      members.add("certificates", kCertificates);
  }
  return members;
}

std::string schema_of(const Group& group) {
  if (group.option != nullptr) return schema_of(*group.option);
  return object_of(members_of(group));
}

Group options_where(bool (*wanted)(const Option&)) {
  Group all;
  for (const Option& option : options()) {
    if (wanted(option)) all.add(option.key(), option);
  }
  return all;
}

std::string said(std::string_view description, std::string_view schema) {
  return fmt::format(R"({{"description":{},{}}})", in_quotes(description), schema);
}

// Clients' and Lineward's words for a server's type.
std::string type_words() {
  return alternatives(
      {fmt::format(R"({{"enum":[null,"auto","stdio","{}","sse"]}})", fmt::join(kHttpTypeWords, "\",\"")),
       kVariable});
}

Members server_members() {
  Members server;
  const Group all = options_where([](const Option& option) { return option.per_server(); });
  for (const Group& group : all.children) {
    if (group.name == "tools") continue;  // add_overrides
    const bool is_type = group.name == "type";
    server.add(group.name, is_type ? said(about(*group.option), type_words()) : schema_of(group));
    if (group.name == "url") server.add("urls", kUrls);
  }
  return server;
}

// Words for servers from clients' files (config/reader/server_reader.cc).
void add_client_words(Members& server) {
  for (std::string_view name : {"httpUrl", "serverUrl"})
    server.add(name, said("As url.", R"("type":["string","null"])"));
  for (std::string_view name : {"transportType", "transport"})
    server.add(name, said("As type.", type_words()));
  server.add("enabled",
             said("The opposite of disabled.", alternatives({R"({"type":["boolean","null"]})", kVariable})));
  const std::string list = fmt::format(R"("type":["array","null"],"items":{})", kScalar);
  server.add("includeTools", said("As tools.allow.", list)).add("excludeTools", said("As tools.deny.", list));
  server.add("options",
             said("The options of its tool filter, as in Smithery's files.", R"("type":"object")"));
  for (std::string_view name :
       {"autoApprove", "alwaysAllow", "trust", "dev", "oauth", "auth", "description", "gallery", "icon"})
    server.add(name, R"({"description":"Concerns the client only; ignored."})");
}

void add_overrides(Members& server) {
  server.add("methods", said("Other limits for single methods, by glob; the first that matches counts.",
                             R"("$ref":"#/$defs/overrides")"));
  Members tools;
  const std::string names = fmt::format(R"({{"type":"array","minItems":1,"items":{}}})", kScalar);
  for (std::string_view name : {"only", "schema"})
    tools.add(name, schema_of(*find_option(fmt::format("mcpServers.*.tools.{}", name))));
  tools.add("allow", names).add("deny", fmt::format(R"({{"type":["array","null"],"items":{}}})", kScalar));
  tools.add(
      "overrides",
      said("Other limits for single tools, by the server's own names; they outrank those of the method. And "
           "how a tool is shown to clients.",
           R"("$ref":"#/$defs/toolOverrides")"));
  server.add("tools", fmt::format(R"({{"type":"object","additionalProperties":false,"properties":{}}})",
                                  tools.object()));
}

// `shown`: of tools, which may also have another name, title and description.
std::string overrides_schema(bool shown) {
  Members limits;
  for (std::string_view name : {"request", "maxDuration", "progressResets"})
    limits.add(name, schema_of(*find_option(fmt::format("mcpServers.*.timeouts.{}", name))));
  Members one;
  one.add("timeouts", object_of(limits));
  if (shown) {
    one.add("name", R"({"type":"string","pattern":"^[A-Za-z0-9_.-]{1,128}$"})");
    one.add("title", R"({"type":["string","number","boolean"],"minLength":1})");
    one.add("description", R"({"type":["string","number","boolean"]})");
  }
  return fmt::format(
      R"({{"type":"object","additionalProperties":{}}})",
      fmt::format(R"({{"type":"object","additionalProperties":false,{},"properties":{}}})",
                  shown ? R"("minProperties":1)" : R"("required":["timeouts"])", one.object()));
}

// Not rows of the table (config/reader/listeners.cc): the options of `listen`, but those of the whole
// process.
std::string listeners_schema(Group listen, const std::string& auth) {
  std::erase_if(listen.children, [](const Group& one) { return is_of_process(one.name); });
  Members members = members_of(listen);
  members.add("servers",
              fmt::format(R"({{"description":"It serves these only.","type":["array","null"],"items":{}}})",
                          kScalar));
  members.add(
      "auth",
      fmt::format(
          R"({{"description":"off: each caller is anonymous, whatever auth says; a map: its own, instead of auth.",{}}})",
          alternatives({R"({"enum":[null,"on","off"]})", auth})));
  return fmt::format(
      R"({{"description":"Further listeners by name: as listen, with differences.","type":["object","null"],"propertyNames":{{"pattern":"^[A-Za-z0-9_-]{{1,64}}$"}},"additionalProperties":{}}})",
      object_of(members, R"(,"required":["address"])"));
}

Members plugin_members(const PluginSpec& spec) {
  Group all;
  for (const Option& option : spec.options)
    all.add(option.path, option);
  return members_of(all);
}

std::string plugin_schema(const PluginSpec& spec, const Members& members) {
  std::string required;
  for (std::string_view name : spec.required) {
    if (name.find('.') == std::string_view::npos) required += (required.empty() ? "" : ",") + in_quotes(name);
  }
  std::string more = fmt::format(R"(,"description":{})", in_quotes(spec.summary));
  if (!required.empty()) more += fmt::format(R"(,"required":[{}])", required);
  return object_of(members, more);
}

std::string name_and_servers(Members& members) {
  members.add("name", R"({"description":"In metrics and logs.","type":["string","null"]})");
  members.add(
      "servers",
      fmt::format(
          R"({{"description":"It sees requests to these servers only.","type":["array","null"],"items":{}}})",
          kScalar));
  return members.object();
}

std::string auth_schema(const PluginSpecs& plugins) {
  Members auth;
  for (const PluginSpec* spec : plugins) {
    if (!spec->authenticates) continue;
    Members members = plugin_members(*spec);
    name_and_servers(members);
    auth.add(spec->name, plugin_schema(*spec, members));
  }
  for (const Option& option : auth_options())
    auth.add(option.path, schema_of(option));
  Members metadata;
  for (const Option& option : metadata_options())
    metadata.add(option.path, schema_of(option));
  auth.add("resourceMetadata", object_of(metadata, R"(,"required":["resource"])"));
  return object_of(auth);
}

std::string plugins_schema(const PluginSpecs& plugins) {
  Members entry;
  entry.add(
      "listeners",
      fmt::format(
          R"({{"description":"It sees requests that came to these listeners only; `listen` is the first one.","type":["array","null"],"items":{}}})",
          kScalar));
  for (const PluginSpec* spec : plugins) {
    if (!spec->authenticates) entry.add(spec->name, fmt::format(R"({{"$ref":"#/$defs/{}"}})", spec->name));
  }
  entry.add("path", R"({"description":"A shared object instead.","type":"string"})");
  entry.add(
      "options",
      fmt::format(
          R"({{"description":"Of the shared object; it checks them itself.","type":["object","null"],"additionalProperties":{}}})",
          kScalar));
  return fmt::format(
      R"({{"description":"In the order in which they see a request.","type":["array","null"],"items":{{"type":"object","minProperties":1,"additionalProperties":false,"properties":{}}}}})",
      name_and_servers(entry));
}

}  // namespace

std::string options_schema(const PluginSpecs& plugins, std::string_view version) {
  Members server = server_members();
  add_client_words(server);
  add_overrides(server);
  Members defs;
  defs.add(
      "server",
      object_of(server,
                R"(,"patternProperties":{"^sandbox":{"description":"Concerns the client only; ignored."}})"));
  defs.add("overrides", overrides_schema(false));
  defs.add("toolOverrides", overrides_schema(true));
  for (const PluginSpec* spec : plugins) {
    if (!spec->authenticates) defs.add(spec->name, plugin_schema(*spec, plugin_members(*spec)));
  }

  Members top;
  top.add("$schema", R"({"type":"string"})");
  const std::string servers =
      R"("type":["object","null"],"propertyNames":{"pattern":"^[A-Za-z0-9_-]{1,64}$"},"additionalProperties":{"$ref":"#/$defs/server"})";
  top.add("mcpServers", said("The servers, by name; the name is the last part of a server's path.", servers));
  top.add("servers", said("As mcpServers.", servers));
  top.add(
      "defaults",
      said("Defaults of every server.",
           fmt::format(
               R"("type":["object","null"],"additionalProperties":false,"properties":{})",
               members_of(options_where([](const Option& option) { return option.inherited(); })).object())));
  const Group gateway = options_where([](const Option& option) { return !option.per_server(); });
  for (const Group& group : gateway.children) {
    const bool may_be_off = group.name == "ops" || group.name == "admin";
    const std::string schema = schema_of(group);
    if (group.name == "listen") top.add("listeners", listeners_schema(group, auth_schema(plugins)));
    top.add(group.name, may_be_off ? "{" + alternatives({R"({"const":"off"})", schema}) + "}" : schema);
  }
  for (const PluginSpec* spec : plugins) {
    if (!spec->authenticates) top.add(spec->name, fmt::format(R"({{"$ref":"#/$defs/{}"}})", spec->name));
  }
  top.add("auth", auth_schema(plugins)).add("plugins", plugins_schema(plugins));
  for (std::string_view name : {"inputs", "globalShortcut", "preferences"})
    top.add(name, R"({"description":"Concerns the client only; ignored."})");

  return fmt::format(
      "{{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\n\"title\":\"Configuration of "
      "Lineward {}\",\n"
      "\"type\":[\"object\",\"null\"],\"additionalProperties\":false,\n\"properties\":{},\n\"$defs\":{}}}\n",
      version, top.object(), defs.object());
}

}  // namespace lineward::config
