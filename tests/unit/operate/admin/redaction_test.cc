#include "foundation/log/redaction.h"

#include <catch2/catch.hpp>

#include "foundation/log/log.h"
#include "foundation/log/sanitize.h"

using namespace lineward;

TEST_CASE("what a redactor blacks out is in no log line and nothing that operators are told") {
  auto kept = redaction::add([](std::string_view text) {
    std::string out(text);
    for (size_t at = out.find("secret"); at != std::string::npos; at = out.find("secret"))
      out.replace(at, 6, "***");
    return out;
  });
  CHECK(redaction::touches("anything"));
  CHECK(sanitize("a secret\n") == "a ***?");
  // Before it is cut: the cut does not hide a part of it from the rule.
  CHECK(sanitize("a secret", 5) == "a ***");
  CHECK(log::render(log::Format::logfmt, log::Level::info, "e", {{"k", "the secret"}, {"n", 1}}, "T", false)
            .find("secret") == std::string::npos);
  kept.reset();
  CHECK(sanitize("a secret") == "a secret");
}
