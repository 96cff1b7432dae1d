// The pages of docs/reasons in the binary (embed_reasons.cmake), as they stand in their files.
#pragma once

#include <string_view>
#include <vector>

namespace lineward::cli {

struct ReasonPage {
  std::string_view reason;  // of mcp/end_reason.h
  std::string_view markdown;
};
const std::vector<ReasonPage>& reason_pages();

}  // namespace lineward::cli
