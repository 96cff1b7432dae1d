#include "operate/cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

namespace lineward::cli {
namespace {

// Actions of `lineward server NAME`.
constexpr std::string_view kServerActions = "start stop restart drain";
// Options that take the name of a server.
constexpr std::string_view kNamesServer = "--server|--upstream";
// The running gateway's server names: the first column, below its header. Names are plain words.
constexpr std::string_view kServerNames =
    "lineward servers 2>/dev/null | sed -n '2,$s/^\\([A-Za-z0-9_-]*\\) .*/\\1/p'";

struct Choice {
  std::string name;  // with its dashes
  std::string about;
  bool takes_value = false;
};

// Up to the first end of a sentence or clause that fits beside the name.
std::string short_words(const std::string& text) {
  const size_t end = text.find_first_of(";:(\n");
  std::string words = text.substr(0, end == std::string::npos ? text.size() : end);
  while (!words.empty() && (words.back() == ' ' || words.back() == '.'))
    words.pop_back();
  return words;
}

std::vector<Choice> options_of(const CLI::App& command) {
  std::vector<Choice> out;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // accepted words of other programs
    for (const std::string& name : option->get_lnames())
      out.push_back(
          {"--" + name, short_words(option->get_description()), option->get_items_expected_max() > 0});
    for (const std::string& name : option->get_snames())
      out.push_back(
          {"-" + name, short_words(option->get_description()), option->get_items_expected_max() > 0});
  }
  return out;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

bool names_server(const Choice& option) {
  return option.name == "--server" || option.name == "--upstream";
}

std::string names(const std::vector<Choice>& choices) {
  std::string out;
  for (const Choice& choice : choices)
    out += (out.empty() ? "" : " ") + choice.name;
  return out;
}

std::string command_names(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : commands_of(app))
    out += (out.empty() ? "" : " ") + command->get_name();
  return out;
}

std::string bash_script(const CLI::App& app) {
  std::string cases, values;
  for (const CLI::App* command : commands_of(app)) {
    const std::vector<Choice> options = options_of(*command);
    cases += fmt::format("    {}) words='{}' ;;\n", command->get_name(), names(options));
    for (const Choice& option : options) {
      if (option.takes_value) values += fmt::format("{}{}", values.empty() ? "" : "|", option.name);
    }
  }
  return fmt::format(
      "# bash completion of lineward: source <(lineward completion bash)\n"
      "_lineward() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= words= i "
      "given=0\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${{COMP_WORDS[i]}} in\n"
      "      --) return ;;  # a server's own command\n"
      "      -*) ;;\n"
      "      *) [ -z \"$command\" ] || given=$((given + 1)); [ -n \"$command\" ] || "
      "command=${{COMP_WORDS[i]}} ;;\n"
      "    esac\n"
      "  done\n"
      "  case $before in\n"
      "    {3}) mapfile -t COMPREPLY < <(compgen -W \"$({5})\" -- \"$current\"); return ;;\n"
      "    {1}) return ;;  # its value: files\n"
      "  esac\n"
      "  if [[ $command == server && $current != -* ]]; then\n"
      "    case $given in\n"
      "      0) words=$({5}) ;;\n"
      "      1) words='{4}' ;;\n"
      "    esac\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "    return\n"
      "  fi\n"
      "  case $command in\n"
      "    '') words='{2}' ;;\n"
      "    help) words='{2}' ;;\n"
      "    completion) words='bash zsh fish' ;;\n"
      "{0}"
      "  esac\n"
      "  [[ -n $command && $current != -* && $command != help && $command != completion ]] && return\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
      "}}\n"
      "complete -o default -F _lineward lineward\n",
      cases, values, command_names(app), kNamesServer, kServerActions, kServerNames);
}

// Text between quotes in a specification of zsh's _arguments.
std::string zsh_words(std::string text) {
  std::string out;
  for (char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out;
}

std::string zsh_script(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : commands_of(app)) {
    commands +=
        fmt::format("    '{}:{}'\n", command->get_name(), zsh_words(short_words(command->get_description())));
    std::string specifications;
    for (const Choice& option : options_of(*command)) {
      specifications += fmt::format(" \\\n        '{}[{}]{}'", option.name, zsh_words(option.about),
                                    !option.takes_value    ? ""
                                    : names_server(option) ? ":server:_lineward_servers"
                                                           : ":value:_files");
    }
    std::string rest = "'*:file:_files'";
    if (command->get_name() == "completion") rest = "'*:shell:(bash zsh fish)'";
    if (command->get_name() == "server")
      rest = fmt::format("'1:server:_lineward_servers' '2:action:({})'", kServerActions);
    cases += fmt::format("      {})\n        _arguments -s{} \\\n        {} ;;\n", command->get_name(),
                         specifications, rest);
  }
  return fmt::format(
      "#compdef lineward\n"
      "# zsh completion of lineward: lineward completion zsh > a file called _lineward in a folder of "
      "$fpath\n"
      "_lineward_servers() {{\n"
      "  local -a servers\n"
      "  servers=(${{(f)\"$({})\"}})\n"
      "  compadd -a servers\n"
      "}}\n"
      "_lineward() {{\n"
      "  local -a commands\n"
      "  commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe -t commands command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $command in\n{}  esac\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = _lineward ]; then _lineward \"$@\"; else compdef _lineward lineward; fi\n",
      kServerNames, commands, cases);
}

std::string fish_words(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish_script(const CLI::App& app) {
  const std::string servers(kServerNames);
  std::string out =
      "# fish completion of lineward: lineward completion fish > ~/.config/fish/completions/lineward.fish\n";
  for (const CLI::App* command : commands_of(app)) {
    out += fmt::format("complete -c lineward -n __fish_use_subcommand -f -a {} -d '{}'\n",
                       command->get_name(), fish_words(short_words(command->get_description())));
    for (const Choice& option : options_of(*command)) {
      const bool one = option.name.rfind("--", 0) != 0;
      out += fmt::format("complete -c lineward -n '__fish_seen_subcommand_from {}' {} {}{} -d '{}'\n",
                         command->get_name(), one ? "-s" : "-l", option.name.substr(one ? 1 : 2),
                         !option.takes_value    ? ""
                         : names_server(option) ? fmt::format(" -x -a '({})'", fish_words(servers))
                                                : " -r",
                         fish_words(option.about));
    }
  }
  out += "complete -c lineward -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";
  out += fmt::format(
      "complete -c lineward -n '__fish_seen_subcommand_from server' -f -a '({})'\n"
      "complete -c lineward -n '__fish_seen_subcommand_from server' -f -a '{}'\n",
      fish_words(servers), kServerActions);
  return out;
}

}  // namespace

std::string completion_script(const CLI::App& app, std::string_view shell) {
  if (shell == "bash") return bash_script(app);
  if (shell == "zsh") return zsh_script(app);
  return shell == "fish" ? fish_script(app) : std::string();
}

}  // namespace lineward::cli
