#include "proxy/aggregate/sub_request.h"

#include <catch2/catch.hpp>

#include "unit/protocol/mcp/parse.h"

using namespace lineward;

TEST_CASE(
    "what is asked of one server for a client has its headers, and not the trace of the call that needs it") {
  core::UpstreamRequest call;
  call.message = mcp::parse(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}})");
  call.method = mcp::Method::tools_call;
  call.headers = core::HeaderFields{{"traceparent", "00-1"}, {"X-Team", "blue"}, {"Mcp-Param-Region", "us"}};
  const core::UpstreamRequest own = aggregate::own_request(call, mcp::Method::tools_list, {});
  CHECK(own.message.method() == "tools/list");
  CHECK(core::HeaderFields(own.headers) == core::HeaderFields{{"X-Team", "blue"}});
}
