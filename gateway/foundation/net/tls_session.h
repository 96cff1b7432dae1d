// The server's side of TLS on one connection: OpenSSL between the bytes of a socket and plain bytes. No
// sockets, loops or clocks; nothing here calls back.
//
// May change threads together with its connection: used by one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/net/tls_listener.h"

struct ssl_st;

namespace lineward::net {

class TlsSession {
 public:
  // closed: the client ended its side (close_notify). failed: fault() has the reason.
  enum class State : uint8_t { handshake, open, closed, failed };
  static constexpr size_t kMaxFeed = 64 * 1024;
  // Bytes of a whole handshake, with a client's certificates.
  static constexpr size_t kMaxHandshake = 64 * 1024;
  // Plain bytes that seal() takes at once.
  static constexpr size_t kRecord = 16 * 1024;

  // Null: no memory.
  static std::unique_ptr<TlsSession> accept(TlsListenerPtr listener);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // At most kMaxFeed received bytes. Returns all plain bytes decrypted, valid until the next call on this
  // thread.
  std::string_view feed(std::string_view wire);
  // Encrypts at most kRecord plain bytes; only while open.
  void seal(std::string_view plain);
  // Ends the own side: close_notify.
  void end();
  // Bytes for the client, made by feed(), seal() and end(), and not sent yet.
  std::string_view output() const { return std::string_view(out_).substr(sent_); }
  void sent(size_t bytes);

  State state() const { return state_; }
  // Set after `failed`: a sentence. Never holds bytes of the client.
  const std::string& fault() const { return fault_; }
  // The client spoke HTTP without TLS.
  bool is_plain_http() const { return plain_http_; }
  bool is_resumed() const;
  std::string_view version() const;   // "TLSv1.3"
  std::string_view protocol() const;  // agreed by ALPN, "h2"; empty: none
  // The verified certificate of the client; null: it showed none. Owned by the session.
  x509_st* client_certificate() const;

 private:
  explicit TlsSession(TlsListenerPtr listener) : listener_(std::move(listener)) {}
  struct Wire;
  void fail_with(std::string why);
  bool refuse_plain_http(std::string_view wire);

  TlsListenerPtr listener_;
  ssl_st* ssl_ = nullptr;
  std::string_view in_;  // received bytes that OpenSSL has not taken yet
  std::string out_;
  size_t sent_ = 0;      // bytes of out_
  size_t received_ = 0;  // in the handshake
  State state_ = State::handshake;
  bool plain_http_ = false;
  bool ended_ = false;
  std::string fault_;
};

}  // namespace lineward::net
