// What the static binary (conf/scripts/static.sh) has to say to its libraries first of all, so that it
// depends on nothing of the machine that belongs to another C library or another OpenSSL than the one that is
// linked in.
#pragma once

namespace lineward::net {

#ifdef LINEWARD_STATIC
constexpr bool kSelfContained = true;
#else
constexpr bool kSelfContained = false;
#endif

// Call it before anything else, while there is one thread. Does nothing in a build with shared libraries.
void use_only_what_is_linked_in();

}  // namespace lineward::net
