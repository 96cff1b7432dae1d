#include "operate/cli/help_topics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/options/names.h"
#include "config/options/options_text.h"
#include "config/options/read_value.h"
#include "foundation/base/is_among.h"
#include "operate/cli/reason_pages.h"
#include "plugins/registry.h"

namespace lineward::cli {
namespace {

constexpr size_t kWidth = 100;

// The names of plugins, either authenticating ones or the others.
std::vector<std::string_view> plugin_names(bool authenticating) {
  std::vector<std::string_view> out;
  for (const config::PluginSpec* spec : plugins::specs()) {
    if (spec->authenticates == authenticating) out.push_back(spec->name);
  }
  return out;
}

std::string plugins_text(bool authenticating) {
  config::PluginSpecs some;
  for (const config::PluginSpec* spec : plugins::specs()) {
    if (spec->authenticates == authenticating) some.push_back(spec);
  }
  return config::plugins_help(some);
}

std::string_view reason_of(const EmbeddedFile& page) {
  return page.name.substr(0, page.name.find('.'));
}

std::string_view page_of(std::string_view reason) {
  for (const EmbeddedFile& page : reason_pages()) {
    if (reason_of(page) == reason) return page.text;
  }
  return {};
}

// "  word  one, two, three", wrapped for a terminal.
std::string listed(std::string_view word, const std::vector<std::string_view>& names) {
  std::string out, line = fmt::format("  {:<9}", word);
  const size_t indent = line.size();
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string one = std::string(names[i]) + (i + 1 < names.size() ? "," : "");
    if (line.size() + 1 + one.size() > kWidth) {
      out += line + "\n";
      line = std::string(indent, ' ');
    }
    line += " " + one;
  }
  return out + line + "\n";
}

ExitCode no_such_topic(const std::vector<std::string_view>& commands, const std::string& topic,
                       const CommandContext& around) {
  std::vector<std::string> groups = config::help_topics();
  std::vector<std::string_view> options;
  for (const std::string& group : groups) {
    if (!is_among(commands, group)) options.push_back(group);
  }
  for (std::string_view one : {"auth", "defaults", "plugins"})
    options.push_back(one);
  std::vector<std::string_view> reasons;
  for (const EmbeddedFile& page : reason_pages())
    reasons.push_back(reason_of(page));
  std::vector<std::string_view> plugins = plugin_names(true);
  for (std::string_view name : plugin_names(false))
    plugins.push_back(name);
  std::vector<std::string_view> all = commands;
  for (const auto* some : {&options, &plugins, &reasons})
    all.insert(all.end(), some->begin(), some->end());
  const std::string_view likely = config::nearest(topic, all);
  around.err << fmt::format("error: there is no help on '{}'{}\n", config::clip(topic),
                            likely.empty() ? "; there is on"
                                           : fmt::format("; did you mean '{}'? There is on", likely))
             << listed("commands", commands) << listed("options", options) << listed("plugins", plugins)
             << listed("reasons", reasons);
  return ExitCode::usage;
}

}  // namespace

std::string plain_page(std::string_view markdown) {
  std::string out;
  bool line_begins = true, code = false;
  for (size_t at = 0; at < markdown.size(); ++at) {
    const char c = markdown[at];
    if (line_begins && c == '#') {
      at = markdown.find_first_not_of("# ", at) - 1;
      line_begins = false;
      continue;
    }
    line_begins = c == '\n';
    if (c == '`') {
      code = !code;
      continue;
    }
    if (!code && c == '*' && markdown.substr(at, 2) == "**") {
      ++at;
      continue;
    }
    // [words](target): the words; if they name the page, its path in the documentation.
    const size_t middle = !code && c == '[' ? markdown.find("](", at) : std::string_view::npos;
    const size_t end = middle == std::string_view::npos ? middle : markdown.find(')', middle);
    if (end != std::string_view::npos) {
      for (char letter : markdown.substr(at + 1, middle - at - 1)) {
        if (letter != '`') out += letter;
      }
      at = end;
      continue;
    }
    out += c;
  }
  return out;
}

ExitCode print_topic(const CLI::App& app, const std::vector<std::string_view>& commands,
                     const std::string& topic, const CommandContext& around) {
  std::string out;
  if (topic != "options" && is_among(commands, topic)) out = app.get_subcommand(topic)->help();
  if (topic == "plugins") {
    out += plugins_text(false) +
           "Plugins that authenticate callers (apiKey, jwt) stand below auth: lineward help auth\n";
  } else {
    std::string options = config::options_help(topic);
    if (!options.empty()) out += (out.empty() ? "" : "\nIts options in the configuration\n\n") + options;
  }
  if (topic == "auth") out += "\n" + plugins_text(true);
  if (const config::PluginSpec* spec = config::find_spec(plugins::specs(), topic);
      out.empty() && spec != nullptr)
    out = config::plugins_help({spec});
  if (const std::string_view page = page_of(topic); out.empty() && !page.empty()) out = plain_page(page);
  if (out.empty()) return no_such_topic(commands, topic, around);
  around.out << out;
  return ExitCode::ok;
}

}  // namespace lineward::cli
