#include "foundation/process/code_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

using namespace lineward;

TEST_CASE("pages that are their file's are unmapped, a changed one stays", "[code_pages]") {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char name[] = "/tmp/code-pages-XXXXXX";
  const int file = mkstemp(name);
  REQUIRE(file >= 0);
  unlink(name);
  const std::string text = std::string(page, 'a') + std::string(page, 'b') + std::string(page, 'c');
  REQUIRE(write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  void* map = mmap(nullptr, text.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  REQUIRE(map != MAP_FAILED);
  auto* bytes = static_cast<volatile char*>(map);
  const char touched = bytes[0];
  bytes[page] = 'X';
  const char last = bytes[2 * page];
  REQUIRE(mprotect(map, text.size(), PROT_READ) == 0);

  const size_t unmapped = process::unmap_unchanged_pages(map, static_cast<char*>(map) + text.size());

  // Without the kernel's map nothing is unmapped.
  CHECK((unmapped == 2 * page || (unmapped == 0 && access("/proc/self/pagemap", R_OK) != 0)));
  CHECK(bytes[0] == touched);
  CHECK(bytes[page] == 'X');
  CHECK(bytes[2 * page] == last);
  munmap(map, text.size());
  close(file);
}

TEST_CASE("a program goes on without its code pages", "[code_pages]") {
  const size_t first = process::unmap_code_pages();
  CHECK((first > 0 || access("/proc/self/pagemap", R_OK) != 0));
  CHECK(std::to_string(first).size() > 0);
}
