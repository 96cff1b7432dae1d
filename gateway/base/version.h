// Who Lineward says that it is. The number comes from CMakeLists.txt, where alone it is written down.
#pragma once

#define LINEWARD_USER_AGENT "lineward/" LINEWARD_VERSION
// An Implementation object of MCP, JSON text.
#define LINEWARD_IMPLEMENTATION R"({"name":"lineward","version":")" LINEWARD_VERSION R"("})"
