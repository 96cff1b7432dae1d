#include "config/reader/value_reader.h"

#include <fmt/format.h>

#include <utility>

#include "config/options/names.h"
#include "config/options/read_value.h"

namespace lineward::config {
namespace {

// The command line that starts a server's process.
bool is_for_command(const Option& option) {
  return option.path == "mcpServers.*.command" || option.path == "mcpServers.*.args";
}

// Each request to the server has its own values.
bool takes_words(const Option& option) {
  return option.path == "mcpServers.*.headers" || option.path == "mcpServers.*.meta" ||
         option.path == "mcpServers.*.env";
}

}  // namespace

Diagnostic& ValueReader::add(std::string code, std::string message, const Node& at) {
  Diagnostic diagnostic;
  diagnostic.code = std::move(code);
  diagnostic.message = std::move(message);
  diagnostic.line = at.line;
  diagnostic.column = at.column;
  diagnostic.length = at.length;
  diagnostics_.push_back(std::move(diagnostic));
  return diagnostics_.back();
}

Diagnostic& ValueReader::add(std::string code, std::string message, const Member& at) {
  Diagnostic& diagnostic = add(std::move(code), std::move(message), at.value);
  diagnostic.line = at.line;
  diagnostic.column = at.column;
  diagnostic.length = at.length;
  return diagnostic;
}

bool ValueReader::read_option(const Option& option, const Node& node, Value& value) {
  bool names = option.kind == Kind::names && node.kind == NodeKind::sequence;
  return option.kind == Kind::list || names ? read_list(option, node, value)
         : option.kind == Kind::map         ? read_map(option, node, value)
                                            : read_scalar(option, node, value);
}

bool ValueReader::expand_scalar(const Node& node, bool secret, Expansion& out, bool for_command,
                                bool with_words) {
  if (for_command && beside_ != nullptr) {
    VariableSources sources = sources_;
    sources.own = [this](std::string_view name) { return beside_->find(name) != nullptr; };
    out = expand(node.text, sources);
  } else if (with_words) {
    VariableSources sources = sources_;
    sources.words = true;
    out = expand(node.text, sources);
  } else {
    out = expand(node.text, sources_);
  }
  for (const std::string& name : out.left) {
    Diagnostic& diagnostic =
        add("left-variable",
            fmt::format(
                "{} is not set here, and stands in env: the command gets the ${{…}} as it is, to replace it",
                name),
            node);
    diagnostic.severity = Severity::info;
  }
  secrets_.insert(out.secrets.begin(), out.secrets.end());
  if (reading_) uses_[*reading_].insert(out.variables.begin(), out.variables.end());
  for (const Diagnostic& fault : out.faults)
    add(fault.code, fault.message, node).hint = fault.hint;
  if (out.bare_dollar) {
    // The text after the dollar may be part of a password: do not quote it.
    Diagnostic& diagnostic =
        add("bare-variable",
            secret ? "a $NAME without braces is left as it is in this value"
                   : fmt::format("a $NAME without braces is left as it is: '{}'", clip(node.text)),
            node);
    diagnostic.severity = Severity::warning;
    diagnostic.hint = "write ${NAME} to have it replaced";
  }
  return out.faults.empty();
}

bool ValueReader::read_scalar(const Option& option, const Node& node, Value& value) {
  if (node.kind == NodeKind::null) {
    add("wrong-type", fmt::format("'{}' has no value", option.leaf()), node).hint =
        fmt::format("give it a {}, or remove it", kind_name(option.kind));
    return false;
  }
  if (node.kind != NodeKind::scalar) {
    Diagnostic& diagnostic =
        add("wrong-type",
            fmt::format("'{}' takes one value ({}), not a {}", option.leaf(), kind_name(option.kind),
                        node.kind == NodeKind::sequence ? "list" : "map"),
            node);
    if (option.path == "mcpServers.*.command")
      diagnostic.hint = "the first word here, the others in args: [...]";
    return false;
  }
  Expansion expansion;
  if (!expand_scalar(node, false, expansion, is_for_command(option))) return false;
  Result<Value, Misfit> read = read_value(option, expansion.text);
  Misfit misfit;
  if (!read) {
    misfit = read.error();
  } else if (Result<Done, Misfit> checked = check_value(option, *read, expansion.text); !checked) {
    misfit = checked.error();
  } else {
    value = std::move(*read);
    return true;
  }
  if (expansion.replaced && misfit.shows_text) {
    // A variable's value is not shown; the broken rule is.
    misfit.message = fmt::format("what the variables give does not fit '{}': a {} is needed", option.leaf(),
                                 kind_name(option.kind));
    if (misfit.code != "out-of-range") misfit.hint.clear();
  }
  Diagnostic& diagnostic = add(misfit.code, misfit.message, node);
  diagnostic.hint = misfit.hint;
  diagnostic.note = misfit.note;
  return false;
}

bool ValueReader::fits(const Option& option, Value& value, const Node& node) {
  Result<Done, Misfit> checked = check_value(option, value, "");
  if (!checked) add(checked.error().code, checked.error().message, node).hint = checked.error().hint;
  return checked.has_value();
}

bool ValueReader::read_list(const Option& option, const Node& node, Value& value) {
  if (node.kind == NodeKind::null) return true;
  if (node.kind != NodeKind::sequence) {
    add("wrong-type", fmt::format("'{}' is a list", option.leaf()), node).hint = "write [one, two]";
    return false;
  }
  bool good = true;
  for (const Node& item : node.items) {
    Expansion expansion;
    if (item.kind != NodeKind::scalar) {
      add("wrong-type", fmt::format("every entry of '{}' is text", option.leaf()), item).hint =
          "put it in quotes";
      good = false;
    } else if (expand_scalar(item, false, expansion, is_for_command(option))) {
      value.list.push_back(std::move(expansion.text));
    } else {
      good = false;
    }
  }
  return good && fits(option, value, node);
}

bool ValueReader::read_map(const Option& option, const Node& node, Value& value) {
  if (node.kind == NodeKind::null) return true;
  if (node.kind != NodeKind::mapping) {
    add("wrong-type", fmt::format("'{}' is a map", option.leaf()), node).hint = "write { NAME: value }";
    return false;
  }
  bool good = true;
  for (const Member& member : node.members) {
    bool empty = member.value.kind == NodeKind::null && member.value.text.empty();
    Expansion expansion;
    if (member.key.empty() || member.key.find('=') != std::string::npos) {
      add("bad-name", "this cannot be the name of a variable", member);
      good = false;
    } else if (member.value.kind != NodeKind::scalar && !empty) {
      add("wrong-type", fmt::format("the value of '{}' must be text", clip(member.key)), member.value).hint =
          "put it in quotes";
      good = false;
    } else if (expand_scalar(member.value, true, expansion, false, takes_words(option))) {
      value.map.emplace_back(member.key, std::move(expansion.text));
    } else {
      good = false;
    }
  }
  return good && fits(option, value, node);
}

}  // namespace lineward::config
