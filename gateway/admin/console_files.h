// The files of the console in the binary: gateway/admin/console.
#pragma once

#include "base/embedded_file.h"

namespace lineward::admin {

const std::vector<EmbeddedFile>& console_files();

}  // namespace lineward::admin
