#include "operate/cli/reference_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "config/options/options_schema.h"
#include "config/options/read_value.h"
#include "operate/cli/completion.h"
#include "operate/cli/man_pages.h"
#include "plugins/registry.h"

namespace lineward::cli {
namespace {

constexpr const char* kSchemaFooter =
    "Editors complete and check a configuration that names the schema in its first line:\n"
    "  # yaml-language-server: $schema=./lineward.schema.json\n"
    "\n"
    "Examples\n"
    "  lineward schema > lineward.schema.json";
constexpr const char* kCompletionFooter =
    "Examples\n"
    "  source <(lineward completion bash)\n"
    "  lineward completion zsh > ~/.zfunc/_lineward\n"
    "  lineward completion fish > ~/.config/fish/completions/lineward.fish";
constexpr const char* kManFooter =
    "Examples\n"
    "  lineward man > lineward.1\n"
    "  lineward man lineward.yaml > lineward.yaml.5\n"
    "  lineward man | man -l -";

}  // namespace

void add_reference(CLI::App& app, ReferenceFlags& flags) {
  CLI::App* schema = app.add_subcommand("schema", "Prints the JSON Schema of the configuration.");
  schema->footer(kSchemaFooter);
  CLI::App* completion =
      app.add_subcommand("completion", "Prints a script that completes lineward's commands in a shell.");
  completion->add_option("SHELL", flags.shell, "bash, zsh or fish")->type_name("");
  completion->footer(kCompletionFooter);
  CLI::App* man = app.add_subcommand("man", "Prints a manual page.");
  man->add_option("PAGE", flags.page, "lineward (1), or lineward.yaml (5)")->type_name("");
  man->footer(kManFooter);
}

bool is_reference(std::string_view command) {
  return command == "schema" || command == "completion" || command == "man";
}

ExitCode run_reference(std::string_view command, const CLI::App& app, const ReferenceFlags& flags,
                       std::string_view version, const CommandContext& around) {
  if (command == "schema") {
    around.out << config::options_schema(plugins::specs(), version);
    return ExitCode::ok;
  }
  if (command == "completion") {
    const std::string script = completion_script(app, flags.shell);
    if (script.empty())
      return bad_usage(around.err, "completion takes bash, zsh or fish", "lineward completion --help");
    around.out << script;
    return ExitCode::ok;
  }
  if (flags.page.empty() || flags.page == "lineward") {
    around.out << man_page_of_commands(app, version);
  } else if (flags.page == "lineward.yaml") {
    around.out << man_page_of_configuration(version);
  } else {
    return bad_usage(around.err, fmt::format("there is no page '{}'", config::clip(flags.page)),
                     "lineward man --help");
  }
  return ExitCode::ok;
}

}  // namespace lineward::cli
