// Scalars, lists and maps of a configuration file as typed values, with their variables replaced; and what
// is wrong with the file, noted where it stands. It never stops at an error: the user sees them all.
//
// Owned by the TreeReader, used by all who read a part of the tree.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/diagnostic.h"
#include "config/options/options.h"
#include "config/reader/document.h"
#include "config/reader/variables.h"

namespace lineward::config {

class ValueReader {
 public:
  ValueReader(std::vector<Diagnostic>& diagnostics, VariableSources sources)
      : diagnostics_(diagnostics), sources_(std::move(sources)) {}
  ValueReader(const ValueReader&) = delete;
  ValueReader& operator=(const ValueReader&) = delete;

  // One value by its row. False: it is noted what is wrong.
  bool read_option(const Option& option, const Node& node, Value& value);
  bool read_scalar(const Option& option, const Node& node, Value& value);
  bool read_list(const Option& option, const Node& node, Value& value);
  bool read_map(const Option& option, const Node& node, Value& value);

  Diagnostic& add(std::string code, std::string message, const Node& at);
  Diagnostic& add(std::string code, std::string message, const Member& at);
  // All that was noted.
  std::vector<Diagnostic>& diagnostics() { return diagnostics_; }

  // Whose values are read from here on, for uses(): a server's name, "" for all else, nothing for `defaults`.
  void read_for(std::optional<std::string> whose) { reading_ = std::move(whose); }
  // The `env` of the server whose values are read: a variable that its command and args name, and that only
  // stands there, is the command's to replace, as where a client starts it. Null: there is none. It outlives
  // the reading.
  void read_beside(const Node* env) { beside_ = env; }
  const VariableUses& uses() const { return uses_; }
  // What the variables gave that no text may show.
  const std::set<std::string>& secrets() const { return secrets_; }
  const VariableSources& sources() const { return sources_; }

 private:
  // Is a whole list or map what its row allows? If not, that is noted.
  bool fits(const Option& option, Value& value, const Node& node);
  bool expand_scalar(const Node& node, bool secret, Expansion& out, bool for_command = false);

  std::vector<Diagnostic>& diagnostics_;
  const VariableSources sources_;
  VariableUses uses_;
  std::set<std::string> secrets_;
  std::optional<std::string> reading_;
  const Node* beside_ = nullptr;
};

}  // namespace lineward::config
