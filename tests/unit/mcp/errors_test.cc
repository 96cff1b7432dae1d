#include "mcp/errors.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace lineward;

TEST_CASE("an error of each reason that a client gets one for names the page of that reason") {
  for (const mcp::EndReasonRow& row : mcp::kEndReasons) {
    if (row.code == 0) continue;
    mcp::GatewayError error;
    error.reason = row.reason;
    error.text = "a \"text\"";
    for (const char* id : {"7", "\"x\"", ""}) {
      const auto message = nlohmann::json::parse(mcp::gateway_error(id, error));
      INFO(message.dump());
      CHECK(message["error"]["code"] == row.code);
      const auto& ours = message["error"]["data"]["io.lineward/gateway"];
      CHECK(ours["reason"] == std::string(row.name));
      CHECK(ours["retryable"] == row.retryable);
      CHECK(ours["page"] == "docs/reasons/" + std::string(row.name) + ".md");
    }
    CHECK(nlohmann::json::parse(mcp::gateway_data(error))["io.lineward/gateway"].contains("page"));
  }
}

TEST_CASE("what does not apply to an error is left out of its data") {
  mcp::GatewayError error;
  error.reason = mcp::EndReason::queue_full;
  const auto data = nlohmann::json::parse(mcp::gateway_data(error))["io.lineward/gateway"];
  for (const char* key : {"upstream", "route", "callId", "limitMs", "elapsedMs", "retryAfterMs"})
    CHECK_FALSE(data.contains(key));
  error.retry_after_ms = 0;
  CHECK(nlohmann::json::parse(mcp::gateway_data(error))["io.lineward/gateway"]["retryAfterMs"] == 0);
}
