// The keys of an issuer. A file is read again when it changes. A URL is fetched at start and every `refresh`,
// and earlier when a token names an unknown key.
//
// Owned by the plugin; no callbacks after it is destroyed.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "foundation/net/file_watch.h"
#include "plugins/auth/jwt_keys.h"
#include "proxy/plugin/host.h"

namespace lineward::plugins {

struct KeySourceOptions {
  std::string plugin;  // its name, for logs
  std::string file, url, ca_file;
  std::chrono::milliseconds refresh{0}, max_stale{0};
};

// The keys of a key set file; the error names it.
Result<std::shared_ptr<const KeySet>> read_key_set(const std::string& path);

class KeySource {
 public:
  // `changed`: the keys have changed. `settled`: a fetch has ended, with success or failure; may destroy
  // this.
  KeySource(plugin::Host& host, KeySourceOptions options, std::function<void()> changed,
            std::function<void()> settled);
  ~KeySource();

  // Fails only for a file.
  Status<> start();
  // Null: none were loaded, or they are too old.
  const KeySet* keys() const;
  // Call it when a token names an unknown key. True: a fetch is under way.
  bool look_again();
  // Whether look_again() would return true; starts nothing.
  bool may_look_again() const;
  // The keys may be incomplete: the last fetch failed, or one is under way.
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
  std::string text_;                        // text of the current keys
  std::chrono::milliseconds fresh_at_{0};   // when they were last confirmed
  std::chrono::milliseconds asked_at_{-1};  // when the last fetch began; negative: never
  std::unique_ptr<plugin::WebTask> task_;
  std::unique_ptr<net::FileWatch> watch_;
  net::Timer timer_;
  bool failed_ = false;  // result of the last fetch
  uint64_t fetches_ = 0, failures_ = 0;
};

}  // namespace lineward::plugins
