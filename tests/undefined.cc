// Does what is undefined, once: ctest looks whether the sanitizers stop it there and say where.
#include <climits>

namespace {

int one_more(int than) {
  return than + 1;
}

}  // namespace

int main(int count, char**) {
  return one_more(INT_MAX - 1 + count) == 0 ? 0 : 1;
}
