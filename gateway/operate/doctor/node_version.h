// Checks that a server's Node version fits its package.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "operate/doctor/finding.h"

namespace lineward::doctor {

// `range` in npm syntax: ">=20", "^18.17 || >=20.5.0", "18.x", ">=18 <21". An unknown syntax fits.
bool version_fits(std::string_view version, std::string_view range);

// `file`: the program that is started. Reports nothing for servers that do not run on Node.
void check_node(const config::Server& server, const std::string& file,
                const std::vector<std::string>& environment, Findings& findings);

}  // namespace lineward::doctor
