// Opens an address in the user's browser, if there is one.
//
// The address is a secret: it is passed in a file that only the user can read, since command lines are
// visible to all users. The destructor removes the file.
#pragma once

#include <string>

#include "foundation/base/result.h"

namespace lineward::cli {

class Browser {
 public:
  Browser() = default;
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // The error names the failed step. Success does not mean that a browser appeared.
  Status<> open(const std::string& address, const std::string& display);
  // Call it when the page has been read: removes the file.
  void forget();

 private:
  std::string file_;
};

}  // namespace lineward::cli
