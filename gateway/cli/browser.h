// Opens an address in the user's browser, where there is one.
//
// The address is a secret: it goes through a file that only the user can read, not over a command line, which
// everybody on the machine can. The file goes with this object.
#pragma once

#include <string>

#include "base/result.h"

namespace lineward::cli {

class Browser {
 public:
  Browser() = default;
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // What it was that could not be done is told; whether a browser came up, nobody knows.
  Status<> open(const std::string& address, const std::string& display);
  // The page has been read.
  void forget();

 private:
  std::string file_;
};

}  // namespace lineward::cli
