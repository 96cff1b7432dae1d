// Trees of a configuration as text, in YAML and in JSON, and what builds such trees.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/reader/document.h"

namespace lineward::adapt {

using config::Member;
using config::Node;

Node text_node(std::string_view text);  // a string, whatever it looks like
Node word_node(std::string_view text);  // true, 60s, 8
Node list_node(const std::vector<std::string>& items);
Node map_node(const std::vector<std::pair<std::string, std::string>>& entries);
void add_member(Node& mapping, std::string key, Node value);
// Adds it where there is something in it.
void add_text(Node& mapping, std::string key, std::string_view text);

// With a newline at its end. Short lists stand on one line.
std::string yaml_text(const Node& root);
std::string json_text(const Node& root);

}  // namespace lineward::adapt
