// Suggests the option that was probably meant, and validates addresses and server names.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::config {

// Lower case, without _ and -, for comparing names in suggestions.
std::string normalised(std::string_view name);
// The candidate within max(1, length/3) edits (insert, delete, replace, swap neighbours), or empty.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates);

// The closest word of kSynonyms by nearest(), the given scope first; empty if none.
std::string_view nearest_synonym(std::string_view name, bool per_server);

// Another product's name for a Lineward option.
struct Synonym {
  std::string_view word;    // normalised
  std::string_view target;  // a Lineward option path
  std::string_view said_by;
};
const Synonym* find_synonym(std::string_view name, bool per_server);

// Spellings of the Streamable HTTP type in clients' files; the first is Lineward's own.
inline constexpr std::array<std::string_view, 4> kHttpTypeWords = {"http", "streamable-http",
                                                                   "streamableHttp", "streamable_http"};

// Empty if valid, else the error. socket_fault() is for addresses with many clients, address_fault() accepts
// `stdio` too.
inline constexpr std::string_view kSocketShape = "write host:port, :port, [::1]:port or unix:/path";
std::string_view socket_fault(std::string_view address);
std::string_view address_fault(std::string_view address);
bool is_server_name(std::string_view name);
// Maps server names of clients' files ("My notes", "@scope/x") to valid names, in the same order. Valid names
// stay. Otherwise each run of invalid characters becomes one '-' (none at an end), and long names are cut. A
// clash with another server's name appends a hash of the original name, so that the result does not depend on
// the order of the file. Duplicates map to the same name.
std::vector<std::string> server_names(const std::vector<std::string>& written);

}  // namespace lineward::config
