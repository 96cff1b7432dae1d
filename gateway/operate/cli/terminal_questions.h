// A server's questions (elicitation), asked on the user's terminal.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "foundation/base/result.h"
#include "operate/cli/command_context.h"
#include "operate/cli/interrupts.h"

namespace lineward::cli {

class TerminalQuestions {
 public:
  TerminalQuestions(Interrupts& interrupts, const CommandContext& around);
  ~TerminalQuestions();
  TerminalQuestions(const TerminalQuestions&) = delete;
  TerminalQuestions& operator=(const TerminalQuestions&) = delete;

  // There is a terminal to ask on.
  bool can_ask() const { return terminal_ >= 0; }
  // `requests` of an InputRequiredResult; returns their inputResponses. nullopt if a signal arrived
  // meanwhile. A request that cannot be asked is answered with a cancel.
  std::optional<nlohmann::json> answer(const nlohmann::json& requests);

 private:
  std::optional<nlohmann::json> answer_one(const nlohmann::json& request);
  std::optional<nlohmann::json> fill_in(const nlohmann::json& schema);
  std::optional<nlohmann::json> field(const std::string& name, const nlohmann::json& property,
                                      const nlohmann::json& schema, bool required);
  enum class ReadEnd : unsigned char { line, end, interrupt };
  ReadEnd read_line(std::string& line);

  Interrupts& interrupts_;
  const CommandContext& around_;
  int terminal_ = -1;
  bool refused_ = false;  // by an end of file within a form
};

// Converts a text to the value of an elicitation field, or returns the error. Pure. Choices of `oneOf` may be
// given by title.
Result<nlohmann::json> field_value(const nlohmann::json& property, const nlohmann::json& schema,
                                   const std::string& text);
// "(string, required) What it is called"
std::string field_prompt(const std::string& name, const nlohmann::json& property, bool required);
// The questions as a sentence for an error.
std::string questions_text(const nlohmann::json& requests);

}  // namespace lineward::cli
