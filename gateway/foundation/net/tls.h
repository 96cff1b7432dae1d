// TLS to servers: OpenSSL over memory BIOs, so that TLS uses the same streams as plain connections.
//
// A TlsContext is shared by all connections of one server; a TlsEngine belongs to one connection and lives as
// long. Neither uses sockets, loops or clocks; nothing here calls back. TLS 1.2 or newer; the server's
// certificate and name are always verified (RFC 9110, section 4.3.4).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/result.h"

struct ssl_ctx_st;
struct ssl_st;
struct bio_st;

namespace lineward::net {

struct TlsOptions {
  std::string ca_file;      // PEM; empty: the system's authorities
  std::string client_cert;  // PEM with its chain; empty: none
  std::string client_key;   // PEM; empty: in client_cert
};

class TlsContext {
 public:
  static Result<std::shared_ptr<TlsContext>> for_client(const TlsOptions& options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ssl_ctx_st* raw() const { return context_; }

 private:
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ssl_ctx_st* context_;
};

class TlsEngine {
 public:
  enum class State { handshake, open, closed, failed };

  // `host` is the DNS name or IP address that the certificate must match. `alpn`: protocols to offer, each
  // behind its length; empty: none.
  static Result<std::unique_ptr<TlsEngine>> for_client(std::shared_ptr<TlsContext> context,
                                                       const std::string& host, std::string_view alpn = {});
  ~TlsEngine();
  TlsEngine(const TlsEngine&) = delete;
  TlsEngine& operator=(const TlsEngine&) = delete;

  // Feeds received bytes; appends the decrypted text to `plain`.
  State feed(std::string_view wire, std::string& plain);
  // Encrypts `plain` for the peer; buffers it until the handshake is done.
  State write(std::string_view plain);
  // Bytes to send now, after for_client(), feed(), write() and close().
  std::string take_output();
  // Ends the write side.
  void close();

  State state() const { return state_; }
  std::string_view protocol() const;  // agreed by ALPN, "h2"; empty: none
  // Set after `failed`: one sentence.
  const std::string& fault() const { return fault_; }

 private:
  TlsEngine() = default;
  State advance(std::string& plain);
  State broken(std::string_view what);
  void flush_plain();

  std::shared_ptr<TlsContext> context_;
  ssl_st* ssl_ = nullptr;
  bio_st* in_ = nullptr;  // owned by ssl_
  bio_st* out_ = nullptr;
  std::string host_;
  std::string waiting_;  // plain text written before the handshake
  State state_ = State::handshake;
  std::string fault_;
};

}  // namespace lineward::net
