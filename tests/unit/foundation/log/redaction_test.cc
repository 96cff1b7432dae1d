#include "foundation/log/redaction.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "foundation/log/excerpt.h"
#include "foundation/log/known_secrets.h"
#include "foundation/log/sanitize.h"

using namespace lineward;
using log::Excerpt;

// The secrets are those of the process: each test has its own.

TEST_CASE("a configuration's secrets are in no text that is shown") {
  redaction::use_secrets({"first-secret-1", "first-secret-1-longer", "short"});
  CHECK(sanitize("a first-secret-1-longer b first-secret-1 c") == "a … b … c");
  CHECK(logged("first-secret-1", false) == R"("…")");
  CHECK(sanitize("first-secret-2 is none, short is a word") == "first-secret-2 is none, short is a word");
  CHECK(sanitize("first-secret-") == "first-secret-");
  CHECK(redaction::touches("xfirst-secret-1"));
  CHECK_FALSE(redaction::touches("first-secre"));
  CHECK_FALSE(redaction::touches(""));
}

TEST_CASE("the secrets of a configuration before stay hidden, the newest of them") {
  redaction::use_secrets({"old-secret-000"});
  redaction::use_secrets({"new-secret-000"});
  CHECK(sanitize("old-secret-000 new-secret-000") == "… …");
  for (int i = 1; i <= 2; ++i) {
    std::vector<std::string> many;
    for (size_t k = 0; k < redaction::KnownSecrets::kMostFormer; ++k)
      many.push_back("one-of-many-" + std::to_string(i) + "-" + std::to_string(100000 + k));
    redaction::use_secrets(many);
  }
  CHECK(sanitize("old-secret-000") == "old-secret-000");
  CHECK(sanitize("one-of-many-1-100000 one-of-many-2-100000") == "… …");
  // Wanted again, it is no former one.
  redaction::use_secrets({"one-of-many-1-100500"});
  CHECK(sanitize("one-of-many-1-100500") == "…");
}

TEST_CASE("a text is redacted before it is cut") {
  redaction::use_secrets({"cut-secret-0123456789"});
  const std::string text = std::string(90, 'x') + "cut-secret-0123456789" + std::string(90, 'y');
  CHECK(std::string_view(Excerpt(text, 100)) == std::string(90, 'x') + "…" + std::string(7, 'y'));
  CHECK(sanitize(text, 100) == std::string(90, 'x') + "…" + std::string(7, 'y') + "…");
  const std::string fits = "cut-secret-0123456789";
  CHECK(std::string_view(Excerpt(fits, 100)) == fits);  // redacted when it is shown
  CHECK(std::string_view(Excerpt("abcdef", 3)) == "abc");
}

TEST_CASE("user and password leave a URI") {
  using redaction::without_userinfo;
  CHECK(without_userinfo("https://u:p@h/x") == "https://…@h/x");
  CHECK(without_userinfo("see https://u:p@h and https://h/a@b") == "see https://…@h and https://h/a@b");
  CHECK(without_userinfo("https://u@v@h") == "https://…@h");
  CHECK(without_userinfo("a@b") == "a@b");
  CHECK(without_userinfo("docs://react@18/hooks") == "docs://react@18/hooks");
  CHECK(without_userinfo("npm://@scope/name") == "npm://@scope/name");
  CHECK(without_userinfo("http://[user:password@]host:port") == "http://[user:password@]host:port");
  CHECK(without_userinfo("custom://u:p@h") == "custom://…@h");
  CHECK(sanitize("cannot reach https://u:p@h/x") == "cannot reach https://…@h/x");
  CHECK_FALSE(redaction::touches("someone@example.org"));
}

TEST_CASE("what a plugin blacks out is blacked out besides") {
  redaction::use_secrets({"plugin-secret-1"});
  const std::string text = "plugin-secret-1 and hush";
  {
    auto kept = redaction::add([](std::string_view shown) {
      std::string out(shown);
      const size_t at = out.find("hush");
      return at == std::string::npos ? out : out.replace(at, 4, "***");
    });
    CHECK(redaction::touches("anything"));
    CHECK(redaction::apply(text) == "… and ***");
  }
  CHECK(redaction::apply(text) == "… and hush");
}
