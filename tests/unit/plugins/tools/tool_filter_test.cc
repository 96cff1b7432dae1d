#include <sys/stat.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "plugins/common/tool_filter_rules.h"
#include "plugins/tools/tool_pins.h"

using namespace lineward;
using plugins::definition_digest;
using plugins::filter_list;
using plugins::NameRule;
using plugins::ScopeRules;
using plugins::ToolPins;
using Finding = ToolPins::Finding;
using Mode = ToolPins::Mode;

namespace {

mcp::Message answer(const std::string& result) {
  auto message = mcp::Message::parse(R"({"jsonrpc":"2.0","id":1,"result":)" + result + "}", 1024);
  REQUIRE(message);
  return std::move(*message);
}

std::string kept(const std::string& result, const NameRule& rule) {
  mcp::Message message = answer(result);
  filter_list(message, "tools", "name",
              [&](const std::string& name, std::string_view) { return rule.allows(name); });
  return std::string(message.raw(mcp::Field::result));
}

struct TempFile {
  TempFile() {
    char pattern[] = "/tmp/lineward-pins-XXXXXX";
    directory = mkdtemp(pattern);
    path = directory + "/pins.json";
  }
  ~TempFile() {
    unlink(path.c_str());
    rmdir(directory.c_str());
  }
  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  std::string directory, path;
};

}  // namespace

TEST_CASE("a denied name is never allowed; without allow all others are") {
  NameRule rule{{"get_*", "put"}, {"get_secret*"}};
  CHECK(rule.allows("get_x"));
  CHECK(rule.allows("put"));
  CHECK_FALSE(rule.allows("get_secrets"));
  CHECK_FALSE(rule.allows("delete"));
  CHECK_FALSE(rule.allows(""));
  CHECK(NameRule{{}, {"x"}}.allows("y"));
}

TEST_CASE("a list keeps its bytes but for what is left out") {
  NameRule rule{{}, {"b*"}};
  CHECK(kept(R"({"a":1.0, "tools" : [ {"name":"a" , "x":1e2}, {"name":"b"}, {"name":"c"} ], "z":[] })",
             rule) == R"({"a":1.0, "tools" : [{"name":"a" , "x":1e2},{"name":"c"}], "z":[] })");
  CHECK(kept(R"({"tools":[ {"name":"a"} ]})", rule) == R"({"tools":[ {"name":"a"} ]})");
  CHECK(kept(R"({"tools":[{"name":"b"}]})", rule) == R"({"tools":[]})");
}

TEST_CASE("no spelling of a list gets a denied tool past the filter") {
  NameRule rule{{}, {"bad"}};
  CHECK(kept(R"({"tools":[{"name":"\u0062ad"}]})", rule) == R"({"tools":[]})");
  CHECK(kept(R"({"tools":[{"n\u0061me":"bad"}]})", rule) == R"({"tools":[]})");
  CHECK(kept(R"({"tools":[{"name":"good","name":"bad"}]})", rule) == R"({"tools":[]})");
  CHECK(kept(R"({"tools":[{"name":"good","n\u0061me":"good"}]})", rule) == R"({"tools":[]})");
  CHECK(kept(R"({"tools":[{"name":5},{},"bad",null,{"title":"bad"}]})", rule) == R"({"tools":[]})");
  // Two lists are no message at all.
  for (const char* second : {"tools", "t\\u006fols"})
    CHECK_FALSE(mcp::Message::parse(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"good"}],")" +
                                    std::string(second) + R"(":[{"name":"bad"}]}})"));
  std::string deep = std::string(400, '[') + std::string(400, ']');
  CHECK(kept(R"({"x":)" + deep + R"(,"tools":[{"x":)" + deep + R"(,"name":"bad"}]})", rule) ==
        R"({"x":)" + deep + R"(,"tools":[]})");
}

TEST_CASE("of several tools of one name the first counts") {
  NameRule rule{{}, {"bad"}};
  CHECK(kept(R"({"tools":[{"name":"a","d":1},{"name":"a","d":2},{"name":"\u0061"}]})", rule) ==
        R"({"tools":[{"name":"a","d":1}]})");
}

TEST_CASE("scopes: all of every glob that matches, and an unknown caller has none") {
  auto rules = ScopeRules::make({{"admin_*", "admin  tools:write"}, {"*_user", "users"}});
  REQUIRE(rules);
  CHECK(rules->needed("admin_user") == std::vector<std::string>{"admin", "tools:write", "users"});
  CHECK(rules->needed("read").empty());
  core::Caller caller;
  CHECK(rules->allow("read", nullptr));
  CHECK_FALSE(rules->allow("admin_x", nullptr));
  CHECK_FALSE(rules->allow("admin_x", &caller));
  caller.scopes = {"admin"};
  CHECK_FALSE(rules->allow("admin_x", &caller));
  caller.scopes = {"admin", "tools:write"};
  CHECK(rules->allow("admin_x", &caller));
  CHECK_FALSE(rules->allow("admin_user", &caller));
  CHECK_FALSE(ScopeRules::make({{"x", " "}}));
  CHECK_FALSE(ScopeRules::make({{"x", "a\"b"}}));
  CHECK_FALSE(ScopeRules::make({{"x", "a\r\nb"}}));
}

TEST_CASE("a definition's digest goes by its meaning") {
  std::string one = definition_digest(R"({"name":"a","inputSchema":{"type":"object","x":[1,2]}})");
  CHECK(one.size() == 7 + 64);
  // Pinned: files that were written by other releases must still fit.
  CHECK(one == "sha256:142302d47c90ac0e8709a9a1fffea32645f2cab8bdab13c4e86bd75028520be3");
  CHECK(definition_digest(R"({"inputSchema" : {"x":[ 1,2 ],"type":"\u006fbject"}, "name":"a"})") == one);
  CHECK(definition_digest(R"({"name":"a","inputSchema":{"type":"object","x":[2,1]}})") != one);
  CHECK(definition_digest(R"({"name":"a","inputSchema":{"type":"object","x":[1,2]},"_meta":{}})") != one);
  CHECK(definition_digest(R"({"a":"1"})") != definition_digest(R"({"a":1})"));
  CHECK(definition_digest(R"(["a","b"])") != definition_digest(R"(["a,b"])"));
  CHECK(definition_digest(R"([[],[]])") != definition_digest(R"([[[]]])"));
  // Readers differ about which of two counts.
  CHECK(definition_digest(R"({"name":"a","x":{"d":1,"\u0064":2}})").empty());
  CHECK(definition_digest(std::string(100, '[') + std::string(100, ']')).empty());
}

TEST_CASE("pins are learnt on first use, kept in the file, and enforced") {
  TempFile file;
  {
    ToolPins pins(file.path, Mode::learn);
    REQUIRE(pins.load());
    CHECK(pins.check("s", "r1", "add", R"({"name":"add","description":"adds"})") == Finding::learnt);
    CHECK(pins.check("s", "r1", "add", R"({"description":"adds","name":"add"})") == Finding::same);
    CHECK(pins.check("s", "r2", "add", R"({"name":"add","title":"in another revision"})") == Finding::learnt);
    CHECK(pins.may_call("s", "add"));
    CHECK(pins.may_call("s", "never listed"));
    CHECK(pins.unsaved());
    REQUIRE(pins.save());
    CHECK_FALSE(pins.unsaved());
    struct stat status {};
    REQUIRE(stat(file.path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
    CHECK(pins.check("s", "r1", "add", R"({"name":"add","description":"adds, and mails it"})") ==
          Finding::changed);
    CHECK_FALSE(pins.may_call("s", "add"));
    // Neither its return nor another revision makes it trusted again; only an edit of the file does.
    CHECK(pins.check("s", "r1", "add", R"({"name":"add","description":"adds"})") == Finding::changed);
    CHECK(pins.check("s", "r3", "add", R"({"name":"add"})") == Finding::changed);
    CHECK_FALSE(pins.unsaved());
    REQUIRE(pins.load());
    CHECK_FALSE(pins.may_call("s", "add"));
    CHECK(pins.may_call("t", "add"));
  }
  ToolPins pins(file.path, Mode::enforce);
  REQUIRE(pins.load());
  CHECK(pins.size() == 2);
  CHECK(pins.check("s", "r1", "add", R"({"name":"add","description":"adds"})") == Finding::same);
  CHECK(pins.check("s", "r1", "sub", R"({"name":"sub"})") == Finding::unknown);
  CHECK(pins.check("t", "r1", "add", R"({"name":"add","description":"adds"})") == Finding::unknown);
  CHECK(pins.check("s", "r9", "add", R"({"name":"add","description":"adds"})") == Finding::unknown);
  CHECK(pins.may_call("s", "add"));
  CHECK_FALSE(pins.may_call("s", "sub"));
  CHECK(pins.check("s", "r1", "add", R"({"name":"add","description":"adds","description":"x"})") ==
        Finding::ambiguous);
  CHECK_FALSE(pins.may_call("s", "add"));
  CHECK_FALSE(pins.unsaved());

  // An edited pin is a new approval.
  std::string text = file.text();
  text.replace(text.find("sha256:"), 9, "sha256:ab");
  std::ofstream(file.path) << text;
  REQUIRE(pins.load());
  CHECK(pins.may_call("s", "add"));
}

TEST_CASE("pins that could not be written are written later, and are not lost meanwhile") {
  TempFile file;
  const std::string missing = file.directory + "/later";
  ToolPins pins(missing + "/pins.json", Mode::learn);
  CHECK(pins.check("s", "r1", "add", R"({"name":"add"})") == Finding::learnt);
  CHECK_FALSE(pins.save());
  CHECK(pins.unsaved());
  REQUIRE(mkdir(missing.c_str(), 0700) == 0);
  std::ofstream(pins.path()) << R"({"servers":{"t":{"other":{"r1":"sha256:ab"}}}})";
  REQUIRE(pins.load());
  CHECK(pins.check("s", "r1", "add", R"({"name":"add","title":"another"})") == Finding::changed);
  REQUIRE(pins.save());
  ToolPins again(pins.path(), Mode::enforce);
  REQUIRE(again.load());
  CHECK(again.size() == 2);
  unlink(pins.path().c_str());
  rmdir(missing.c_str());
}

TEST_CASE("two processes that learn pins for one file keep each other's") {
  TempFile file;
  ToolPins first(file.path, Mode::learn), second(file.path, Mode::learn);
  CHECK(first.check("s", "r1", "add", R"({"name":"add"})") == Finding::learnt);
  CHECK(second.check("s", "r1", "sub", R"({"name":"sub"})") == Finding::learnt);
  REQUIRE(first.save());
  REQUIRE(second.save());
  REQUIRE(first.load());
  CHECK(first.size() == 2);
  CHECK(second.size() == 2);
  CHECK(first.check("s", "r1", "sub", R"({"name":"sub","title":"another"})") == Finding::changed);
  CHECK(first.check("s", "r1", "add", R"({"name":"add","title":"another"})") == Finding::changed);
  // A further revision, learnt by another process, approves nothing.
  CHECK(second.check("s", "r2", "add", R"({"name":"add"})") == Finding::learnt);
  REQUIRE(second.save());
  REQUIRE(first.load());
  CHECK_FALSE(first.may_call("s", "add"));
}

TEST_CASE("workers have one set of pins for a file, which neither reads away what the other has learnt") {
  TempFile file;
  auto first = ToolPins::of(file.path, Mode::learn);
  auto second = ToolPins::of(file.path, Mode::learn);
  CHECK(first == second);
  CHECK(first != ToolPins::of(file.path, Mode::enforce));
  CHECK(first != ToolPins::of(file.path + "2", Mode::learn));
  REQUIRE(first->load());
  CHECK(first->check("s", "r", "a", R"({"name":"a"})") == Finding::learnt);
  REQUIRE(first->save());
  // It reads what was written before this was.
  CHECK(first->check("s", "r", "b", R"({"name":"b"})") == Finding::learnt);
  CHECK(first->check("s", "r2", "a", R"({"name":"a"})") == Finding::learnt);
  REQUIRE(second->load());
  CHECK(second->size() == 3);
  CHECK(second->unsaved());
  REQUIRE(second->save());
  CHECK(file.text().find(R"("b")") != std::string::npos);
  CHECK(file.text().find(R"("r2")") != std::string::npos);
  // A pin that is removed from the file is gone.
  std::ofstream(file.path) << R"({"servers":{}})";
  REQUIRE(second->load());
  CHECK(first->size() == 0);
  CHECK_FALSE(first->unsaved());
}

TEST_CASE("a file of pins that is missing or broken is an error, and keeps what was known") {
  TempFile file;
  CHECK_FALSE(ToolPins(file.path, Mode::enforce).load());
  ToolPins pins(file.path, Mode::learn);
  REQUIRE(pins.load());
  pins.check("s", "r", "a", R"({"name":"a"})");
  REQUIRE(pins.save());
  for (const char* text : {"", "{", "[]", R"({"servers":[]})", R"({"tools":{}})"}) {
    std::ofstream(file.path) << text;
    CHECK_FALSE(pins.load());
    CHECK(pins.size() == 1);
  }
}
