#include "proxy/upstream/layers/tool_catalog.h"

#include <catch2/catch.hpp>

using namespace lineward;
using namespace lineward::upstream;

namespace {

mcp::Message message(const std::string& text) {
  auto parsed = mcp::Message::parse(text);
  REQUIRE(parsed);
  return std::move(*parsed);
}

mcp::Message page(const std::string& tools) {
  return message(R"({"jsonrpc":"2.0","id":1,"result":{"x":1.0,"tools":[)" + tools +
                 R"(],"nextCursor":"c"}})");
}

const std::string kGood =
    R"({"name":"good","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"R"}}}})";
const std::string kBad =
    R"({"name":"bad","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":""}}}})";
const std::string kPlain = R"({"name":"plain","inputSchema":{"type":"object"}})";
const std::string kReads = R"({"name":"reads","annotations":{"readOnlyHint":true}})";

}  // namespace

TEST_CASE("only tools with something to say are kept, and a new page replaces what an old one said") {
  ToolCatalog book("s");
  ToolView& view = book.view("a");
  CHECK_FALSE(book.read(view, page(kPlain + "," + kGood + "," + kReads)));
  CHECK(view.tools.size() == 2);
  CHECK(view.find("good")->params.size() == 1);
  CHECK(view.find("reads")->repeatable);
  CHECK(view.find("plain") == nullptr);
  CHECK_FALSE(book.read(view, page(R"({"name":"good","inputSchema":{"type":"object"}})")));
  CHECK(view.find("good") == nullptr);
  CHECK(view.tools.size() == 1);
}

TEST_CASE("tools with an invalid definition are cut, all else stays as it came") {
  ToolCatalog book("s");
  ToolView& view = book.view("a");
  auto all = page(kBad + ", " + kGood + " ," + kPlain);
  CHECK(book.read(view, all));
  CHECK(ToolCatalog::without_invalid(view, all) == page(kGood + "," + kPlain).bytes());
  auto none = page(kBad);
  CHECK(ToolCatalog::without_invalid(view, none) == page("").bytes());
  for (const char* odd :
       {R"({"jsonrpc":"2.0","id":1,"result":{}})", R"({"jsonrpc":"2.0","id":1,"result":{"tools":1}})",
        R"({"jsonrpc":"2.0","id":1,"result":{"tools":[1,null,{}]}})"}) {
    CHECK_FALSE(book.read(view, message(odd)));
  }
}

TEST_CASE("views are kept apart and bounded; a change makes them unknown") {
  ToolCatalog book("s");
  book.read(book.view("a"), page(kGood));
  book.view("a").known = true;
  CHECK(book.view("b").find("good") == nullptr);
  book.changed();
  CHECK_FALSE(book.view("a").known);
  CHECK(book.view("a").find("good") != nullptr);
  for (int i = 0; i < 1000; ++i)
    book.view("v" + std::to_string(i));
  CHECK(book.view("a").find("good") != nullptr);
  for (int i = 0; i < 5000; ++i)
    book.view("v" + std::to_string(i));
  CHECK(book.view("a").find("good") == nullptr);
}

TEST_CASE("views are bounded in bytes too, and the one that is being read stays") {
  const size_t before = MemoryCharge::total(Held::servers);
  std::string tools;
  for (int i = 0; i < 1000; ++i) {
    tools += (i == 0 ? "" : ",") + (R"({"name":")" + std::string(200, 'n') + std::to_string(i)) +
             R"(","annotations":{"readOnlyHint":true}})";
  }
  const mcp::Message all = page(tools);
  ToolCatalog book("s");
  book.read(book.view("first"), all);
  CHECK(book.view("first").tools.size() == 1000);
  for (int i = 0; i < 300; ++i)
    book.read(book.view("v" + std::to_string(i)), all);
  CHECK(book.view("v299").tools.size() == 1000);
  CHECK(book.view("first").tools.empty());
  CHECK(MemoryCharge::total(Held::servers) - before < 33 << 20);
}

TEST_CASE("a view without an immediate list outlives others") {
  ToolCatalog book("s");
  book.view("paused").pause.waits = 1;
  book.view("a").known = true;
  for (int i = 0; i < 5000; ++i)
    book.view("v" + std::to_string(i));
  CHECK(book.view("paused").pause.waits == 1);
  CHECK_FALSE(book.view("a").known);
}

TEST_CASE("Lineward's own list is asked for as its client would") {
  auto call = message(
      R"({"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1,)"
      R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"a":1.0}}}})");
  CHECK(
      tools_list_request(call, true, R"("c")") ==
      R"({"jsonrpc":"2.0","id":0,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
      R"("io.modelcontextprotocol/clientCapabilities":{"a":1.0}},"cursor":"c"}})");
  CHECK(tools_list_request(call, false, {}) ==
        R"({"jsonrpc":"2.0","id":0,"method":"tools/list","params":{}})");
}
