// Lineward's name and version, as sent to peers. CMakeLists.txt defines the version.
#pragma once

#define LINEWARD_USER_AGENT "lineward/" LINEWARD_VERSION
// An MCP Implementation object, as JSON text.
#define LINEWARD_IMPLEMENTATION R"({"name":"lineward","version":")" LINEWARD_VERSION R"("})"
