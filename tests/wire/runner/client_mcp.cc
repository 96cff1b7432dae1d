// The client's MCP verbs: both eras' requests with the headers and envelopes that real clients send.
#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "client.h"
#include "json_raw.h"

namespace lineward::wire {
namespace {

const char* const both_types = "application/json, text/event-stream";

}  // namespace

void Client::modern(const Command& command) {
  auto method = arg(command, 0);
  auto params = modern_params(command);
  auto version = option(command, "version", "2026-07-28");
  Headers headers = {{"Content-Type", "application/json"},
                     {"Accept", both_types},
                     {"MCP-Protocol-Version", version},
                     {"Mcp-Method", method}};
  bool of_task = method.rfind("tasks/", 0) == 0;
  if (method == "tools/call" || method == "prompts/get" || method == "resources/read" || of_task) {
    auto name = find_raw(params, {method == "resources/read" ? "uri" : of_task ? "taskId" : "name"});
    if (name) headers.emplace_back("Mcp-Name", json_string(*name).value_or(""));
  }
  send(build_request("POST", path_, headers, message(id_text(command), method, params), &command));
}

Client::Headers Client::legacy_headers() const {
  Headers headers = {{"Content-Type", "application/json"}, {"Accept", both_types}};
  if (!session_.empty()) {
    headers.emplace_back("Mcp-Session-Id", session_);
    headers.emplace_back("MCP-Protocol-Version", version_);
  }
  return headers;
}

void Client::post_aside(const Command& command, const std::string& method,
                        const std::optional<std::string>& body, const Headers& headers, std::string wanted) {
  auto before = std::exchange(current_, "aside");
  connections_.erase(current_);
  send(build_request(method, path_, headers, body, &command));
  read_response();
  connections_.erase(current_);
  current_ = before;
  wanted = " " + option(command, "status", wanted) + " ";
  auto status = resolve("resp.status")->text;
  if (wanted.find(" " + status + " ") == std::string::npos) {
    fail(fmt::format("expected the status{}; came {}", wanted, status));
  }
}

void Client::modern_notify(const Command& command) {
  Headers headers = {
      {"Content-Type", "application/json"}, {"Accept", both_types}, {"MCP-Protocol-Version", "2026-07-28"}};
  post_aside(command, "POST", message("", arg(command, 0), one_line(arg(command, 1, ""))), headers, "202");
}

void Client::legacy_init(const Command& command) {
  version_ = option(command, "version", "2025-11-25");
  session_.clear();
  send(build_request("POST", path_, legacy_headers(), message("0", "initialize", initialize_params(command)),
                     nullptr));
  read_answer();
  auto session = resolve("resp.header.mcp-session-id");
  auto version = resolve("answer.result.protocolVersion");
  if (!session || !version) fail("initialize was not answered with a session and a result");
  session_ = session->text;
  version_ = json_string(version->text).value_or(version_);
  run_.set(name_ + ".session", {session_});
  if (!command.flag("no-initialized")) {
    post_aside(command, "POST", message("", "notifications/initialized", ""), legacy_headers(), "202");
  }
}

bool Client::execute_mcp(const Command& command) {
  auto verb = command.verb();
  if (verb == "modern") {
    modern(command);
  } else if (verb == "modern-notify") {
    modern_notify(command);
  } else if (verb == "legacy-init") {
    legacy_init(command);
  } else if (verb == "at") {
    path_ = arg(command, 0);
  } else if (verb == "every-request") {
    always_.push_back(arg(command, 0));
  } else if (verb == "session") {
    session_ = arg(command, 0);
    version_ = option(command, "version", version_);
  } else if (verb == "legacy") {
    send(build_request("POST", path_, legacy_headers(),
                       message(id_text(command), arg(command, 0), legacy_params(command)), &command));
  } else if (verb == "legacy-notify") {
    auto body = message("", arg(command, 0), one_line(arg(command, 1, "")));
    post_aside(command, "POST", body, legacy_headers(), "202");
  } else if (verb == "respond") {
    post_aside(command, "POST", response(command), legacy_headers(), "202");
  } else if (verb == "get-stream") {
    Headers headers = {{"Accept", "text/event-stream"}};
    if (!session_.empty()) {
      headers.emplace_back("Mcp-Session-Id", session_);
      headers.emplace_back("MCP-Protocol-Version", version_);
    }
    if (command.flag("last")) headers.emplace_back("Last-Event-ID", option(command, "last"));
    send(build_request("GET", path_, headers, std::nullopt, &command));
  } else if (verb == "delete-session") {
    Headers headers = {{"Mcp-Session-Id", session_}, {"MCP-Protocol-Version", version_}};
    post_aside(command, "DELETE", std::nullopt, headers, "200 202 204");
  } else {
    return false;
  }
  return true;
}

}  // namespace lineward::wire
