// The screen of `lineward top`: lines of text that fill it exactly. Pure, so that tests can read it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "operate/cli/top_model.h"

namespace lineward::cli {

struct TopSize {
  size_t columns = 80, rows = 24;
};

// The distribution of rows.
struct TopLayout {
  size_t servers = 0;  // rows, including one that summarizes the rest
  size_t calls = 0;    // without the header
  size_t log = 0;      // with its header
};
TopLayout top_layout(const TopModel& model, const TopSize& size);

// As many lines as the screen has rows, none wider than the screen.
std::vector<std::string> top_screen(const TopModel& model, const TopSize& size, bool colour);

}  // namespace lineward::cli
