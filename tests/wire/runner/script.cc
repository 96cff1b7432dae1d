#include "script.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "json_raw.h"

namespace lineward::wire {
namespace {

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// Cuts the text into words and the words into commands. `side` says which verbs are known here.
class Parser {
 public:
  Parser(std::string_view text, int line, std::vector<ScriptError>& errors)
      : text_(text), line_(line), errors_(errors) {}

  Block parse(unsigned side) {
    Block block;
    while (at_ < text_.size()) {
      auto words = read_command();
      if (!words.empty()) build(side, words, block);
    }
    return block;
  }

 private:
  void error(int line, std::string text) { errors_.push_back({line, std::move(text)}); }

  // A '#' at the start of a line or after a blank begins a comment, everywhere outside quotes.
  bool at_comment() const {
    return text_[at_] == '#' && (at_ == 0 || blank(text_[at_ - 1]) || text_[at_ - 1] == '\n');
  }
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n')
      ++at_;
  }

  std::vector<Word> read_command() {
    std::vector<Word> words;
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n') {
        ++line_, ++at_;
        if (!words.empty()) break;
      } else if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
        ++line_, at_ += 2;
      } else if (blank(c)) {
        ++at_;
      } else if (at_comment()) {
        skip_line();
      } else if (c == ';' && (at_ + 1 == text_.size() || blank(text_[at_ + 1]) || text_[at_ + 1] == '\n')) {
        ++at_;
        if (!words.empty()) break;
      } else if (c == '"') {
        words.push_back(read_quoted());
      } else if (c == '{' || c == '[') {
        words.push_back(read_braces());
      } else {
        words.push_back(read_bare());
      }
    }
    return words;
  }

  Word read_bare() {
    Word word{{}, Word::Kind::bare, line_};
    int depth = 0;
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '\n' || (depth == 0 && blank(c))) break;
      if (c == '{') ++depth;
      if (c == '}') --depth;
      word.text += c;
      ++at_;
    }
    return word;
  }

  Word read_quoted() {
    Word word{{}, Word::Kind::quoted, line_};
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      char c = text_[at_];
      if (c == '"') {
        ++at_;
        return word;
      }
      if (c != '\\') {
        word.text += c;
        continue;
      }
      if (++at_ >= text_.size()) break;
      switch (text_[at_]) {
        case 'n': word.text += '\n'; break;
        case 'r': word.text += '\r'; break;
        case 't': word.text += '\t'; break;
        case '0': word.text += '\0'; break;
        case '"': word.text += '"'; break;
        case '\\': word.text += '\\'; break;
        case 'x': {
          unsigned value = 0;
          auto digits = text_.substr(at_ + 1, 2);
          auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
          if (ec != std::errc{} || end != digits.data() + 2) error(line_, "\\x needs two hex digits");
          word.text += static_cast<char>(value);
          at_ += 2;
          break;
        }
        default: error(line_, std::string("unknown escape \\") + text_[at_]);
      }
    }
    error(word.line, "a quoted word does not end on its line");
    return word;
  }

  // A brace word keeps its bytes; quotes and comments inside are respected when looking for its end.
  Word read_braces() {
    Word word{{}, Word::Kind::braces, line_};
    size_t start = at_;
    int depth = 0;
    bool quoted = false;
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '\n') ++line_, quoted = false;
      if (quoted) {
        if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
        if (c == '"') quoted = false;
      } else if (c == '"') {
        quoted = true;
      } else if (at_comment()) {
        skip_line();
        --at_;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        ++at_;
        word.text = std::string(text_.substr(start, at_ - start));
        return word;
      }
    }
    error(word.line, "the { or [ that begins here is never closed");
    return word;
  }

  static bool listed(std::string_view list, std::string_view name) {
    for (size_t at = 0; at < list.size();) {
      size_t end = std::min(list.find(' ', at), list.size());
      if (list.substr(at, end - at) == name) return true;
      at = end + 1;
    }
    return false;
  }

  void build(unsigned side, std::vector<Word>& words, Block& block) {
    const Word& verb = words[0];
    Command command;
    command.line = verb.line;
    command.spec = verb.kind == Word::Kind::bare ? find_verb(side, verb.text) : nullptr;
    if (!command.spec) {
      error(verb.line, "unknown verb '" + verb.text + "' here");
      return;
    }
    const VerbSpec& spec = *command.spec;
    bool http = std::any_of(words.begin(), words.end(), [](const Word& w) { return w.text == "-http"; });
    for (size_t i = 1; i < words.size(); ++i) {
      Word& word = words[i];
      bool option = word.kind == Word::Kind::bare && word.text.size() > 1 && word.text[0] == '-' &&
                    std::isalpha(static_cast<unsigned char>(word.text[1]));
      if (option) {
        auto name = word.text.substr(1);
        if (listed(spec.flags, name)) {
          command.options.push_back({name, {{}, Word::Kind::bare, word.line}});
        } else if (!listed(spec.options, name)) {
          error(word.line, std::string(spec.name) + " has no option '" + word.text + "'");
        } else if (i + 1 == words.size()) {
          error(word.line, "option '" + word.text + "' needs a value");
        } else {
          command.options.push_back({name, words[++i]});
        }
      } else if (spec.block != BlockOf::none && word.kind == Word::Kind::braces && word.text[0] == '{') {
        if (command.has_block) error(word.line, std::string(spec.name) + " takes one block");
        unsigned inner = spec.block == BlockOf::upstream ? (http ? origin : upstream)
                         : spec.block == BlockOf::client ? client
                                                         : side;
        auto body = std::string_view(word.text).substr(1, word.text.size() - 2);
        command.block = Parser(body, word.line, errors_).parse(inner);
        command.has_block = true;
      } else {
        command.args.push_back(std::move(word));
      }
    }
    if (command.args.size() < spec.min_args || command.args.size() > spec.max_args) {
      error(command.line, "usage: " + std::string(spec.name) + " " + std::string(spec.usage));
    }
    block.push_back(std::move(command));
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_;
  std::vector<ScriptError>& errors_;
};

// Every ${name…} must begin with something that exists by then: a peer, an -as name, a `set`, a built-in.
class NameCheck {
 public:
  NameCheck(Script& script, std::vector<ScriptError>& errors) : errors_(errors) {
    collect(script.commands);
    check(script.commands);
  }

 private:
  void collect(const Block& block) {
    for (const auto& command : block) {
      auto verb = command.verb();
      if ((verb == "upstream" || verb == "client" || verb == "gateway" || verb == "set") &&
          !command.args.empty()) {
        if (verb != "set" && command.has_block && !defined_.insert(command.args[0].text).second) {
          errors_.push_back({command.line, "'" + command.args[0].text + "' is defined twice"});
        }
        names_.insert(command.args[0].text);
      }
      if (const Word* as = command.option("as")) names_.insert(as->text);
      collect(command.block);
    }
  }

  void check(const Block& block) {
    for (const auto& command : block) {
      for (const auto& word : command.args)
        check_word(word);
      for (const auto& option : command.options)
        check_word(option.value);
      if (command.verb() == "expect" && !command.args.empty() && !parse_path(command.args[0].text)) {
        errors_.push_back({command.line, "bad path '" + command.args[0].text + "'"});
      }
      check(command.block);
    }
  }

  void check_word(const Word& word) {
    for (size_t at = word.text.find("${"); at != std::string::npos; at = word.text.find("${", at + 2)) {
      size_t end = word.text.find('}', at);
      if (end == std::string::npos) {
        errors_.push_back({word.line, "a ${ that is never closed"});
        return;
      }
      auto name = word.text.substr(at + 2, end - at - 2);
      auto first = name.substr(0, name.find_first_of(".["));
      if (!names_.count(first))
        errors_.push_back({word.line, "nothing is called '" + first + "' in ${" + name + "}"});
    }
  }

  std::set<std::string> names_ = {"tmp",      "tag",     "runner", "call",  "notify", "line",
                                  "response", "reply",   "resp",   "event", "port",   "answer",
                                  "i",        "elapsed", "req",    "conn",  "request"};
  std::set<std::string> defined_;
  std::vector<ScriptError>& errors_;
};

}  // namespace

const Word* Command::option(std::string_view name) const {
  for (const auto& option : options) {
    if (option.name == name) return &option.value;
  }
  return nullptr;
}

int parse_duration_ms(std::string_view text) {
  int value = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || value < 0) return -1;
  auto unit = text.substr(static_cast<size_t>(end - text.data()));
  return unit == "ms" ? value : unit == "s" ? value * 1000 : -1;
}

Script parse_script(std::string file, const std::string& text, std::vector<ScriptError>& errors) {
  Script script;
  script.file = std::move(file);
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    script.lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  script.commands = Parser(text, 1, errors).parse(top);
  if (script.commands.empty() || script.commands[0].verb() != "wiretest") {
    errors.push_back({1, "a script begins with: wiretest \"what must hold\""});
  } else if (!script.commands[0].args.empty()) {
    script.title = script.commands[0].args[0].text;
  }
  for (const auto& command : script.commands) {
    if (command.verb() != "timeout" || command.args.empty()) continue;
    script.timeout_ms = parse_duration_ms(command.args[0].text);
    if (script.timeout_ms <= 0 || script.timeout_ms > 55000) {
      errors.push_back({command.line, "timeout needs a unit and is at most 55s: 20s, 500ms"});
    }
  }
  NameCheck(script, errors);
  std::stable_sort(errors.begin(), errors.end(), [](auto& a, auto& b) { return a.line < b.line; });
  return script;
}

}  // namespace lineward::wire
