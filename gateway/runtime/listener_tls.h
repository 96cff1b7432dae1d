// The TLS of a listener for clients: made at the start and at each reload, and made anew when a file
// changes. Files that cannot be used change nothing. Warns of certificates that expire soon.
//
// ListenersTls has that of each listener. It is owned by the Gateway; on the first worker's thread. Workers
// read current() from theirs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "foundation/base/result.h"
#include "foundation/net/certificate.h"
#include "foundation/net/file_watch.h"
#include "foundation/net/loop.h"
#include "foundation/net/tls_listener.h"
#include "foundation/net/tls_tickets.h"

namespace lineward::runtime {

class ListenerTls {
 public:
  // `name`: of a further listener; empty: `listen`.
  explicit ListenerTls(std::string name = {}) : name_(std::move(name)) {}
  ListenerTls(const ListenerTls&) = delete;
  ListenerTls& operator=(const ListenerTls&) = delete;

  std::shared_ptr<const net::CurrentTls> current() const { return current_; }
  // Reads the files of a configuration for use(). The error is one sentence for operators.
  Status<> prepare(const config::Config& config);
  // New connections use what prepare() has made.
  void use();
  // From the time that the loop runs: `config` is the one in effect.
  void watch(net::Loop& loop, const config::Config& config);
  // Before the loop ends.
  void stop();

 private:
  struct Made {
    net::TlsListenerPtr listener;                                          // null: no TLS
    std::vector<std::pair<std::string, net::FileWatch::Signature>> files;  // as they were before reading
    std::vector<net::TicketKeys::Secret> ticket_secrets;
  };
  Result<Made> make(const config::Config& config);
  void watch_files();
  void reread(bool again);
  void warn();
  std::string_view shown_name() const {
    return name_.empty() ? config::kFirstListener : std::string_view(name_);
  }

  const std::string name_;
  const std::shared_ptr<net::CurrentTls> current_ = std::make_shared<net::CurrentTls>();
  const std::shared_ptr<net::TicketKeys> tickets_ = std::make_shared<net::TicketKeys>();
  net::CertificatePtr self_signed_;
  Made next_;
  std::vector<std::pair<std::string, net::FileWatch::Signature>> files_;  // in effect
  net::Loop* loop_ = nullptr;
  const config::Config* config_ = nullptr;
  std::vector<std::unique_ptr<net::FileWatch>> watches_;
  std::unique_ptr<net::Timer> warning_;
  std::unique_ptr<net::Timer> again_;
  std::string last_fault_;
};

class ListenersTls {
 public:
  // From any thread. `listener`: the name of a further one; empty: `listen`.
  std::shared_ptr<const net::CurrentTls> current(const std::string& listener = {});
  // As those of a ListenerTls, for all of them.
  Status<> prepare(const config::Config& config);
  void use();
  void watch(net::Loop& loop, const config::Config& config);
  void stop();

 private:
  ListenerTls& of(const std::string& listener);

  std::mutex mutex_;  // of the map; a removed listener stays in it
  std::map<std::string, std::unique_ptr<ListenerTls>> all_;
  net::Loop* loop_ = nullptr;
  const config::Config* config_ = nullptr;
};

}  // namespace lineward::runtime
