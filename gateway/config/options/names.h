// Words: which option was probably meant, and whether an address or a server's name is well formed.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lineward::config {

// Lower case, without _ and -: how names are compared when looking for the likely one.
std::string normalised(std::string_view name);
// The candidate within max(1, length/3) edits (insert, delete, replace, swap neighbours), or empty.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& candidates);

// The word of kSynonyms that is near to it, as nearest() says, of one side first; empty: none.
std::string_view nearest_synonym(std::string_view name, bool per_server);

// Another product's word for one of our options.
struct Synonym {
  std::string_view word;    // normalised
  std::string_view target;  // our path
  std::string_view said_by;
};
const Synonym* find_synonym(std::string_view name, bool per_server);

// How clients' files spell that a server is spoken to by Streamable HTTP; the first is ours.
inline constexpr std::array<std::string_view, 4> kHttpTypeWords = {"http", "streamable-http",
                                                                   "streamableHttp", "streamable_http"};

// Empty when fine, else what is wrong: of an address where many connect, and of one that may be `stdio` too.
inline constexpr std::string_view kSocketShape = "write host:port, :port, [::1]:port or unix:/path";
std::string_view socket_fault(std::string_view address);
std::string_view address_fault(std::string_view address);
bool is_server_name(std::string_view name);
// Names of servers as clients' files write them ("My notes", "@scope/x"), as names here, in the same order. A
// good name stays. In any other each run of characters that no name has is one '-' (none at an end), what is
// too long is cut, and a name that another server has then ends with a hash of what was written: so it is the
// same wherever the server stands in the file. Written twice, it comes twice.
std::vector<std::string> server_names(const std::vector<std::string>& written);

}  // namespace lineward::config
