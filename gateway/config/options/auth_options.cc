#include "config/options/auth_options.h"

namespace lineward::config {
namespace {

std::string_view check_resource(const Value& value) {
  const std::string& text = value.text;
  bool web = text.rfind("https://", 0) == 0 || text.rfind("http://", 0) == 0;
  if (!web) return "a resource is the https:// URL by which clients know this endpoint";
  if (text.find_first_of("#? \t") != std::string::npos) return "a resource has no query and no fragment";
  return {};
}

}  // namespace

const std::vector<Option>& auth_options() {
  static const std::vector<Option> rows{
      plugin_option(
          "anonymous", Kind::flag, "false", 0, 0,
          "Admit requests without credentials as \"anonymous\"; invalid credentials are still refused."),
  };
  return rows;
}

const std::vector<Option>& metadata_options() {
  static const std::vector<Option> rows{
      plugin_option("resource", Kind::text, "", 0, 0,
                    "The URL of listen.path as clients know it; servers are below it by name.",
                    check_resource),
      plugin_option("authorizationServers", Kind::list, "", 0, 0,
                    "Issuers of authorization servers; empty: those of auth.jwt."),
      plugin_option("scopesSupported", Kind::list, "", 0, 0, "Scopes that clients may ask for."),
      plugin_option("name", Kind::text, "", 0, 0, "A display name of this resource."),
      plugin_option("documentation", Kind::text, "", 0, 0, "A URL for developers."),
  };
  return rows;
}

}  // namespace lineward::config
