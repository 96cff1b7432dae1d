#include "protocol/mcp/errors.h"

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

TEST_CASE("what its server has been sent is not to be tried again, whatever the reason") {
  for (const mcp::EndReasonRow& row : mcp::kEndReasons) {
    if (row.code == 0) continue;
    mcp::GatewayError error;
    error.reason = row.reason;
    error.sent = true;
    CHECK(nlohmann::json::parse(mcp::gateway_data(error))["io.lineward/gateway"]["retryable"] == false);
  }
}

TEST_CASE("why a gateway behind this one could not have its server") {
  const auto reason_of = [](const std::string& text) {
    auto message = mcp::Message::parse(text);
    REQUIRE(message);
    return mcp::gateway_reason(*message);
  };
  const auto named_in = [](const std::string& text) {
    auto message = mcp::Message::parse(text);
    REQUIRE(message);
    return mcp::named_reason(*message);
  };
  mcp::GatewayError error;
  error.reason = mcp::EndReason::upstream_exited;
  CHECK(reason_of(mcp::gateway_error("1", error)) == mcp::EndReason::upstream_exited);
  // Proxies between it and us show in its HTTP status, and no other word counts.
  error.reason = mcp::EndReason::unauthorized;
  CHECK_FALSE(reason_of(mcp::gateway_error("1", error)));
  CHECK(named_in(mcp::gateway_error("1", error)) == mcp::EndReason::unauthorized);
  CHECK_FALSE(named_in(mcp::error_message("1", -32000, "x", R"({"io.lineward/gateway":{"reason":"ok"}})")));
  for (const char* data :
       {"7", "{}", R"({"io.lineward/gateway":7})", R"({"io.lineward/gateway":{"reason":{}}})",
        R"({"io.lineward/gateway":{"reason":"nothing"}})"})
    CHECK_FALSE(reason_of(mcp::error_message("1", -32000, "x", data)));
  CHECK_FALSE(reason_of(mcp::error_message("1", -32000, "x", "")));
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
