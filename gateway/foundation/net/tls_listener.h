// TLS of a listener: certificates by name, versions, ciphers, session tickets, client certificates. Made
// anew when files or options change; a connection keeps the one it began with. Immutable, and shared by all
// workers.
//
// Settings follow Mozilla's "intermediate" recommendation: TLS 1.2 and 1.3, forward secrecy and AEAD only,
// the client's order of ciphers. Renegotiation, compression and early data are off.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/net/certificate.h"
#include "foundation/net/tls_tickets.h"

struct ssl_ctx_st;
struct ssl_st;

namespace lineward::net {

enum class TlsVersion : uint8_t { tls12, tls13 };

struct TlsListenerOptions {
  std::vector<CertificatePtr> certificates;  // the first is shown to clients that name no other
  TlsVersion min_version = TlsVersion::tls12;
  std::string client_authorities;  // PEM text; empty: no client certificates
  bool client_required = false;
  std::vector<std::string> protocols = {"http/1.1"};  // for ALPN
  std::shared_ptr<TicketKeys> tickets;                // null: no session is resumed
};

class TlsListener {
 public:
  static Result<std::shared_ptr<const TlsListener>> make(TlsListenerOptions options);
  ~TlsListener();
  TlsListener(const TlsListener&) = delete;
  TlsListener& operator=(const TlsListener&) = delete;

  const std::vector<CertificatePtr>& certificates() const { return options_.certificates; }
  // For a connection that begins.
  ssl_ctx_st* first() const { return contexts_.front(); }

 private:
  explicit TlsListener(TlsListenerOptions options);
  Status<> add(const Certificate& certificate, ssl_ctx_st* context);
  Result<ssl_ctx_st*> context_for(const Certificate& certificate);
  ssl_ctx_st* find(std::string_view name) const;
  static int choose_certificate(ssl_st* ssl, int* alert, void* self);
  static int send_ocsp(ssl_st* ssl, void* self);
  static int choose_protocol(ssl_st* ssl, const unsigned char** out, unsigned char* out_size,
                             const unsigned char* in, unsigned in_size, void* self);

  const TlsListenerOptions options_;
  std::string protocols_;                                 // in the form of ALPN
  std::vector<ssl_ctx_st*> contexts_;                     // of the certificates, in their order
  std::unordered_map<std::string, ssl_ctx_st*> by_name_;  // "*.example.com" too
};
using TlsListenerPtr = std::shared_ptr<const TlsListener>;

// The TLS that new connections of a listener use; null: none. Set by one thread, read by all workers. The
// lock is taken when a connection opens, never for messages.
class CurrentTls {
 public:
  TlsListenerPtr get() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return now_;
  }
  void set(TlsListenerPtr next) {
    const std::lock_guard<std::mutex> lock(mutex_);
    now_.swap(next);
  }

 private:
  mutable std::mutex mutex_;
  TlsListenerPtr now_;
};

}  // namespace lineward::net
