#include <catch2/catch.hpp>

#include "protocol/mcp/tool_hints.h"

using lineward::mcp::ToolHints;

TEST_CASE("a missing hint has the default of the specification") {
  for (const char* tool : {R"({"name":"a"})", R"({"name":"a","annotations":{}})",
                           R"({"name":"a","annotations":{"title":"t","idempotentHint":true}})",
                           R"({"name":"a","annotations":{"destructiveHint":true}})"}) {
    INFO(tool);
    CHECK_FALSE(ToolHints::of(tool).read_only());
    CHECK_FALSE(ToolHints::of(tool).non_destructive());
  }
  const ToolHints reads = ToolHints::of(R"({"annotations":{"readOnlyHint":true},"name":"a"})");
  CHECK(reads.read_only());
  CHECK(reads.non_destructive());
  const ToolHints adds = ToolHints::of(R"({"name":"a","annotations":{"destructiveHint":false}})");
  CHECK_FALSE(adds.read_only());
  CHECK(adds.non_destructive());
  CHECK(ToolHints::of(R"({"name":"a","annot\u0061tions":{"re\u0061dOnlyHint":true}})").read_only());
}

TEST_CASE("hints of another type, or given twice, count as missing") {
  for (const char* tool :
       {R"({"name":"a","annotations":{"readOnlyHint":"true"}})",
        R"({"name":"a","annotations":{"readOnlyHint":1}})",
        R"({"name":"a","annotations":{"readOnlyHint":[true]}})", R"({"name":"a","annotations":null})",
        R"({"name":"a","annotations":[{"readOnlyHint":true}]})",
        R"({"name":"a","annotations":"readOnlyHint"})",
        R"({"name":"a","annotations":{"readOnlyHint":true,"readOnlyHint":false}})",
        R"({"name":"a","annotations":{"readOnlyHint":false,"readOnlyHint":true}})",
        R"({"name":"a","annotations":{"readOnlyHint":true},"annotations":{"readOnlyHint":true}})",
        R"({"name":"a","name":"b","annotations":{"readOnlyHint":true}})",
        R"({"annotations":{"readOnlyHint":true}})", R"({"name":"a","readOnlyHint":true})",
        R"({"name":"a","annotations":{"readonlyhint":true}})", R"([])", R"("a")"}) {
    INFO(tool);
    CHECK_FALSE(ToolHints::of(tool).read_only());
    CHECK_FALSE(ToolHints::of(tool).non_destructive());
  }
}
