// The options of toolFilter (plugins/tools/tool_filter.cc).
#include "plugins/common/tool_filter_rules.h"

namespace lineward::plugins {

const config::PluginSpec& tool_filter_spec() {
  using config::Kind;
  using config::plugin_choice;
  using config::plugin_option;
  static const config::PluginSpec kSpec{
      "toolFilter",
      "Which tools, prompts and resources clients may see and use.",
      false,
      {plugin_option("allow", Kind::list, "", 0, 0, "Globs of tools; empty: all."),
       plugin_option("deny", Kind::list, "", 0, 0, "Globs of tools that are never allowed."),
       plugin_option("scopes", Kind::map, "", 0, 0,
                     "From a glob of tools to the scopes that a caller needs for them, separated by blanks."),
       plugin_option("prompts.allow", Kind::list, "", 0, 0, "Globs of prompts; empty: all."),
       plugin_option("prompts.deny", Kind::list, "", 0, 0, "Globs of prompts that are never allowed."),
       plugin_option("resources.allow", Kind::list, "", 0, 0, "Globs of URIs and URI templates; empty: all."),
       plugin_option("resources.deny", Kind::list, "", 0, 0, "Globs of URIs that are never allowed."),
       plugin_option("pin.file", Kind::text, "", 0, 0,
                     "A file with digests of tools' definitions: tools that are not as there are hidden and "
                     "refused."),
       plugin_choice("pin.mode", "learn|enforce", "learn",
                     "learn: tools that the file does not have are added; enforce: they are hidden, too.")},
      {}};
  return kSpec;
}

}  // namespace lineward::plugins
