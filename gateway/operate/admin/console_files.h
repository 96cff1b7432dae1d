// The console's files (gateway/operate/admin/console), embedded in the binary.
#pragma once

#include "foundation/base/embedded_file.h"

namespace lineward::admin {

const std::vector<EmbeddedFile>& console_files();

}  // namespace lineward::admin
