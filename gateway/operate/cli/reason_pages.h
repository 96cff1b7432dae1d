// The pages of docs/reasons, embedded in the binary, each named after its reason (protocol/mcp/end_reason.h),
// in Markdown.
#pragma once

#include "foundation/base/embedded_file.h"

namespace lineward::cli {

const std::vector<EmbeddedFile>& reason_pages();

}  // namespace lineward::cli
