// Renders the console on the server: one page of tables, usable without the script, which makes it live
// (admin/console). Pure: takes JSON of the admin API, returns HTML.
//
// All texts come from clients and servers; each is escaped as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "operate/admin/api_routes.h"

namespace lineward::admin {

// Answers of the API.
struct ConsoleView {  // NOLINT(bugprone-exception-escape): moving a json value does not throw
  nlohmann::json status, servers, calls, listens, sessions, ends, minutes, operations, log;
  nlohmann::json story;  // of the selected call; null: none
  Role role = Role::read;
  std::string version;
  std::string form_token;  // for all forms; a read-only role may still log out
  std::string note;        // the result of the last action
  bool logged_in = false;  // there is a login to end
};

std::string console_page(const ConsoleView& view);
// `wrong`: the given token was not valid.
enum class LoginTry : unsigned char { first, wrong };
std::string console_login_page(LoginTry tried);
// An action failed; `text` is one sentence.
std::string console_fault_page(std::string_view text);

std::string html_text(std::string_view text);

}  // namespace lineward::admin
