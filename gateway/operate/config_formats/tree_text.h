// Writes configuration trees as YAML and JSON, and helps to build them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/reader/document.h"

namespace lineward::config_formats {

using config::Member;
using config::Node;

Node text_node(std::string_view text);  // always a string
Node word_node(std::string_view text);  // a bare word: true, 60s, 8
Node list_node(const std::vector<std::string>& items);
Node map_node(const std::vector<std::pair<std::string, std::string>>& entries);
void add_member(Node& mapping, std::string key, Node value);
// Adds a member unless `text` is empty.
void add_text(Node& mapping, std::string key, std::string_view text);

// Ends with a newline. Short lists are on one line.
std::string yaml_text(const Node& root);
std::string json_text(const Node& root);

}  // namespace lineward::config_formats
