// The protocol revisions that Lineward supports, and their eras (2026-07-28 basic/versioning).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lineward::mcp {

enum class Era : uint8_t { legacy, modern };
// A client's transport: Streamable HTTP, the older HTTP+SSE, or stdio.
enum class Wire : uint8_t { http, sse, stdio };

struct Revision {
  std::string_view name;
  Era era;
  bool streamable_http;  // 2024-11-05 has HTTP+SSE and stdio only
};

inline constexpr std::array<Revision, 5> kRevisions{{
    {"2026-07-28", Era::modern, true},
    {"2025-11-25", Era::legacy, true},
    {"2025-06-18", Era::legacy, true},
    {"2025-03-26", Era::legacy, true},
    {"2024-11-05", Era::legacy, false},
}};

inline constexpr std::string_view kNewestModern = "2026-07-28";
inline constexpr std::string_view kNewestLegacy = "2025-11-25";
inline constexpr std::string_view kFirstOfAll = "2024-11-05";
inline constexpr std::string_view kWithBatches = "2025-03-26";  // the only one with batches

inline const Revision* find_revision(std::string_view name) {
  for (const auto& r : kRevisions) {
    if (r.name == name) return &r;
  }
  return nullptr;
}

// Does Lineward offer the revision to a client on this transport?
inline constexpr bool is_served(const Revision& revision, Wire wire) {
  return revision.streamable_http || wire != Wire::http;
}

// The revision in the answer to a client that requested `wanted` from a server which agreed on `agreed` with
// Lineward. An old client knows no newer revision, and ignores the additions of newer ones.
inline std::string_view told_revision(std::string_view wanted, std::string_view agreed, Wire wire) {
  const Revision* old = find_revision(wanted);
  const bool knows_it = old == nullptr || old->era != Era::legacy || !is_served(*old, wire);
  return knows_it || find_revision(agreed) == nullptr || wanted >= agreed ? agreed : wanted;
}

// Revision names are dates; any date from 2026-07-28 on belongs to the modern era, whether Lineward supports
// it or not.
inline bool looks_modern(std::string_view name) {
  if (name.size() != kNewestModern.size()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    bool dash = i == 4 || i == 7;
    if (dash ? name[i] != '-' : (name[i] < '0' || name[i] > '9')) return false;
  }
  return name >= kNewestModern;
}

inline constexpr std::string_view name(Era era) {
  return era == Era::modern ? "modern" : "legacy";
}

}  // namespace lineward::mcp
