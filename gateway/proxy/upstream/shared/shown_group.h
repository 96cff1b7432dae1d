// A group's key (shared/caller_group.h) as logs show it. The whole id of a session, or the whole name of a
// modern client's state, gives access to it, so only its beginning is shown.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "foundation/log/excerpt.h"

namespace lineward::upstream {

inline constexpr size_t kShortestId = 16;
inline constexpr size_t kShownOfId = 8;
inline constexpr size_t kShownOfGroup = 64;

// A slot or a hash of credentials behind the id is kept. A name of state is behind the last slash: it
// has no slash itself, but a principal may.
inline std::string shown_group(std::string_view key) {
  constexpr std::string_view kSession = "session:", kModern = "modern:";
  const size_t slash = key.rfind('/');
  const size_t id = key.substr(0, kSession.size()) == kSession ? kSession.size()
                    : key.substr(0, kModern.size()) == kModern && slash != std::string_view::npos
                        ? slash + 1
                        : key.size();
  const size_t end = std::min(key.find_first_of(":#", id), key.size());
  const size_t cut = end - id < kShortestId ? end : id + kShownOfId;
  return log::Excerpt(std::string(key.substr(0, cut)) + std::string(key.substr(end)), kShownOfGroup).string();
}

}  // namespace lineward::upstream
