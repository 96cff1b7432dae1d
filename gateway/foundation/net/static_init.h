// Initializes the libraries of the static binary (conf/scripts/static.sh), so that it loads no file belonging
// to another C library or another OpenSSL than the linked ones.
#pragma once

namespace lineward::net {

#ifdef LINEWARD_STATIC
constexpr bool kSelfContained = true;
#else
constexpr bool kSelfContained = false;
#endif

// Call it first, while there is one thread. Does nothing in a build with shared libraries.
void use_only_what_is_linked_in();

}  // namespace lineward::net
