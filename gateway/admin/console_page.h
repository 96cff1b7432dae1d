// The console as the server writes it: one page with tables, useful by itself, which the script in it makes
// live (admin/console). Pure: JSON as the admin API gives it goes in, HTML comes out.
//
// All texts come from clients and servers; each is written as text, never as markup.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "admin/api_routes.h"

namespace lineward::admin {

// What the API answered.
struct ConsoleView {  // NOLINT(bugprone-exception-escape): moving a json value does not throw
  nlohmann::json status, servers, calls, listens, sessions, ends, minutes, operations, log;
  nlohmann::json story;  // of the call that is asked for; null: none is
  Role role = Role::read;
  std::string version;
  std::string form_token;  // of all its forms; a role that only reads may still log out
  std::string note;        // what became of the last thing that was done
  bool logged_in = false;  // there is something to log out of
};

std::string console_page(const ConsoleView& view);
// `wrong`: what was given is no token.
enum class LoginTry : unsigned char { first, wrong };
std::string console_login_page(LoginTry tried);
// Of a thing that was not done; `text` is one sentence.
std::string console_fault_page(std::string_view text);

std::string html_text(std::string_view text);

}  // namespace lineward::admin
