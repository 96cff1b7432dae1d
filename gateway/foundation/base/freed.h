// Owns an object of a C library: std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>.
#pragma once

namespace lineward {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* it) const {
    Free(it);
  }
};

}  // namespace lineward
