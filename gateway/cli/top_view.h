// The screen of `lineward top`: lines of text that fill it exactly. Pure, so that tests can read it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/top_model.h"

namespace lineward::cli {

struct TopSize {
  size_t columns = 80, rows = 24;
};

// How its rows are shared out.
struct TopLayout {
  size_t servers = 0;  // rows, one of them for those that have no room
  size_t calls = 0;    // without the head
  size_t log = 0;      // with its head
};
TopLayout top_layout(const TopModel& model, const TopSize& size);

// As many lines as there are rows, none wider than the screen.
std::vector<std::string> top_screen(const TopModel& model, const TopSize& size, bool colour);

}  // namespace lineward::cli
