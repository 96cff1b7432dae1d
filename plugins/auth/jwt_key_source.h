// Where the keys of an issuer come from: a file, read again when it changes, or a URL, fetched at start and
// every `refresh`, and earlier when a token names an unknown key.
//
// Owned by the plugin; calls nobody once it is destroyed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/file_watch.h"
#include "plugin/host.h"
#include "plugins/auth/jwt_keys.h"

namespace lineward::plugins {

struct KeySourceOptions {
  std::string plugin;  // its name, for logs
  std::string file, url, ca_file;
  std::chrono::milliseconds refresh{0}, max_stale{0};
};

// The keys of such a file; the error names it.
Result<std::shared_ptr<const KeySet>> read_key_set(const std::string& path);

class KeySource {
 public:
  // `changed`: there are other keys now. `settled`: a fetch has ended, one way or the other; may destroy
  // this.
  KeySource(plugin::Host& host, KeySourceOptions options, std::function<void()> changed,
            std::function<void()> settled);
  ~KeySource();

  // Only a file can fail.
  Status<> start();
  // Null: none were ever had, or those that there are are too old.
  const KeySet* keys() const;
  // A token names a key that is not there. True: a fetch is under way.
  bool look_again();
  // Whether it would be; begins nothing.
  bool may_look_again() const;
  // The keys that there are may not be all: the last fetch failed, or is under way.
  bool lacking() const { return task_ != nullptr || failed_; }
  uint64_t fetches() const { return fetches_; }
  uint64_t failures() const { return failures_; }

 private:
  void read_file();
  void fetch();
  void fetched(const plugin::WebAnswer& answer);
  bool use(const std::string& text, std::string& fault);

  plugin::Host& host_;
  KeySourceOptions options_;
  std::function<void()> changed_, settled_;
  std::shared_ptr<const KeySet> keys_;
  std::string text_;                        // that they were made of
  std::chrono::milliseconds fresh_at_{0};   // when they were last known to be right
  std::chrono::milliseconds asked_at_{-1};  // when a fetch began last; negative: never
  std::unique_ptr<plugin::WebTask> task_;
  std::unique_ptr<net::FileWatch> watch_;
  net::Timer timer_;
  bool failed_ = false;  // the fetch that ended last
  uint64_t fetches_ = 0, failures_ = 0;
};

}  // namespace lineward::plugins
