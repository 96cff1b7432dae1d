// Pages that a server sends again (proxy/aggregate/page_memo.h).
#include "proxy/aggregate/page_memo.h"

#include <catch2/catch.hpp>
#include <string>

using namespace lineward;
using namespace lineward::aggregate;

namespace {

struct Memo {
  net::Loop loop;
  config::Aggregate rules;
  config::Listen limits;
  NameMap shown{rules};
  PageMemo pages{loop, limits};

  void keep(const std::string& server, const std::string& raw, bool has_uris = false,
            List list = List::tools) {
    pages.keep({server, list, raw, "for clients: " + raw, 1, has_uris, shown.version(list, has_uris)});
  }
  std::string find(const std::string& server, const std::string& raw, List list = List::tools) {
    const auto* page = pages.find(shown, server, list, raw);
    return page == nullptr ? std::string() : page->items;
  }
};

}  // namespace

TEST_CASE("the same bytes of the same server and list are found, others are not") {
  Memo memo;
  memo.keep("fs", "[1]");
  CHECK(memo.find("fs", "[1]") == "for clients: [1]");
  CHECK(memo.find("fs", "[2]").empty());
  CHECK(memo.find("fs", "[1] ").empty());
  CHECK(memo.find("web", "[1]").empty());
  CHECK(memo.find("fs", "[1]", List::prompts).empty());
  memo.keep("web", "[1]");
  memo.pages.forget("fs");
  CHECK(memo.find("fs", "[1]").empty());
  CHECK(memo.find("web", "[1]") == "for clients: [1]");
}

TEST_CASE("a page is read again after a name or a URI that it may show has got an owner") {
  Memo memo;
  memo.rules.prefix_mode = config::PrefixMode::on_conflict;
  memo.keep("fs", "[1]");
  memo.keep("fs", "[2]", true);
  memo.keep("fs", "[3]", false, List::resources);
  memo.shown.prompts.to_client("web", "p");
  CHECK_FALSE(memo.find("fs", "[1]").empty());
  SECTION("a tool's name") {
    memo.shown.tools.to_client("web", "t");
    CHECK(memo.find("fs", "[1]").empty());
    CHECK(memo.find("fs", "[2]").empty());
    CHECK_FALSE(memo.find("fs", "[3]", List::resources).empty());
    memo.shown.tools.to_client("web", "t");  // known by now
    memo.keep("fs", "[1]");
    memo.shown.tools.to_client("web", "t");
    CHECK_FALSE(memo.find("fs", "[1]").empty());
  }
  SECTION("a listed URI") {
    memo.shown.uris.listed("web", "https://a/");
  }
  SECTION("a template") {
    memo.shown.uris.listed_template("web", "https://a/{b}");
  }
  SECTION("a URI of a result") {
    memo.shown.uris.to_client("web", "https://a/");
  }
  SECTION("another server") {
    memo.shown.uris.add_server("new");
  }
  if (memo.shown.tools.owners().size() > 0) return;
  CHECK_FALSE(memo.find("fs", "[1]").empty());
  CHECK(memo.find("fs", "[2]").empty());
  CHECK(memo.find("fs", "[3]", List::resources).empty());
}

TEST_CASE("pages are few, small beside the budget, and counted") {
  Memo memo;
  const uint64_t before = MemoryCharge::total(Held::servers);
  for (size_t i = 0; i <= PageMemo::kMaxOfList; ++i)
    memo.keep("fs", std::to_string(i));
  CHECK(memo.find("fs", "0").empty());
  CHECK_FALSE(memo.find("fs", "1").empty());
  CHECK(MemoryCharge::total(Held::servers) > before + PageMemo::kMaxOfList);
  memo.pages.forget("fs");
  CHECK(MemoryCharge::total(Held::servers) == before);

  memo.limits.max_buffered_bytes = 64u << 20;  // a megabyte of pages
  const std::string half(300'000, 'x');
  memo.keep("a", half);
  memo.keep("b", half);
  CHECK(memo.find("a", half).empty());
  CHECK_FALSE(memo.find("b", half).empty());
  memo.keep("c", half + half);  // too long alone
  CHECK(memo.find("c", half + half).empty());
  CHECK_FALSE(memo.find("b", half).empty());
  memo.limits.max_buffered_bytes = 1u << 20;
  MemoryCharge others;
  others.set(1u << 20);
  memo.keep("d", "[1]");
  CHECK(memo.find("d", "[1]").empty());
  CHECK(memo.find("b", half).empty());
  CHECK(MemoryCharge::total(Held::servers) == before);
}

TEST_CASE("a page without a version is not remembered") {
  Memo memo;
  memo.pages.keep({"fs", List::tools, "[1]", "1", 1, false, std::nullopt});
  CHECK(memo.find("fs", "[1]").empty());
}

TEST_CASE("a page without a request between two sweeps is forgotten, and no longer counted") {
  const uint64_t before = MemoryCharge::total(Held::servers);
  Memo memo;
  memo.keep("fs", "[1]");
  memo.keep("web", "[2]");
  memo.pages.sweep();
  CHECK_FALSE(memo.find("fs", "[1]").empty());
  memo.pages.sweep();
  CHECK(memo.find("web", "[2]").empty());
  CHECK_FALSE(memo.find("fs", "[1]").empty());
  memo.pages.sweep();
  memo.pages.sweep();
  CHECK(memo.find("fs", "[1]").empty());
  CHECK(MemoryCharge::total(Held::servers) == before);
}
