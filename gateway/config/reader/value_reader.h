// Converts scalars, lists and maps of a configuration file to typed values with variables expanded. Reports
// errors at their position and continues after each, so that the user sees all of them.
//
// Owned by the TreeReader; used by all readers of parts of the tree.
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

  // Reads a value by its row. False: an error was reported.
  bool read_option(const Option& option, const Node& node, Value& value);
  bool read_scalar(const Option& option, const Node& node, Value& value);
  bool read_list(const Option& option, const Node& node, Value& value);
  bool read_map(const Option& option, const Node& node, Value& value);

  Diagnostic& add(std::string code, std::string message, const Node& at);
  Diagnostic& add(std::string code, std::string message, const Member& at);
  // All reported diagnostics.
  std::vector<Diagnostic>& diagnostics() { return diagnostics_; }

  // The owner of the values read from here on, for uses(): a server's name, "" for the rest of the file,
  // nullopt for `defaults`.
  void read_for(std::optional<std::string> whose) { reading_ = std::move(whose); }
  // The `env` of the server being read. A variable in its command and args that is only defined there is
  // expanded by the command, as when a client starts it. Null: no `env`. It must outlive the reading.
  void read_beside(const Node* env) { beside_ = env; }
  const VariableUses& uses() const { return uses_; }
  // Values of variables that no text may show.
  const std::set<std::string>& secrets() const { return secrets_; }
  const VariableSources& sources() const { return sources_; }

 private:
  // Checks a whole list or map against its row, and reports errors.
  bool fits(const Option& option, Value& value, const Node& node);
  bool expand_scalar(const Node& node, bool secret, Expansion& out, bool for_command = false,
                     bool with_words = false);

  std::vector<Diagnostic>& diagnostics_;
  const VariableSources sources_;
  VariableUses uses_;
  std::set<std::string> secrets_;
  std::optional<std::string> reading_;
  const Node* beside_ = nullptr;
};

}  // namespace lineward::config
