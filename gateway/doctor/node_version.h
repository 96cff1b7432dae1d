// Does the Node that a server runs on fit what its package.json wants?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "doctor/finding.h"

namespace lineward::doctor {

// `range` as npm writes it: ">=20", "^18.17 || >=20.5.0", "18.x", ">=18 <21". What cannot be read fits.
bool version_fits(std::string_view version, std::string_view range);

// `file`: the program that is started. Says nothing of servers that do not run on Node.
void check_node(const config::Server& server, const std::string& file,
                const std::vector<std::string>& environment, Findings& findings);

}  // namespace lineward::doctor
