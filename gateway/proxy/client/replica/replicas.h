// Session ids where several replicas share one address (docs/replicas.md), and the mark on a request that a
// replica forwards to another.
//
// An id that begins with `lws1.` is sealed: it holds all that any replica needs to continue the session,
// encrypted with the shared key. An id of the form `lwr1~NAME~ID~MAC` is tied: only the replica of that name
// can serve it.
//
// Immutable and shared; a reload creates a new one.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/seal_keys.h"
#include "proxy/core/portable_scopes.h"

namespace lineward::upstream {
class PeerLinks;
}

namespace lineward::client {

inline constexpr std::string_view kPassedHeader = "Lineward-Passed";
// Beside it: the client of the forwarded request. A separate header, so that older replicas still accept the
// mark.
inline constexpr std::string_view kPassedForHeader = "Lineward-Passed-For";

class Replicas {
 public:
  // Since 1970: the replicas' clocks must agree.
  using Time = std::chrono::seconds;
  static Time now();

  // The longest id generated; a session that would need a longer one is tied to its replica.
  static constexpr size_t kMaxId = 2048;

  Replicas(std::shared_ptr<const SealKeys> keys, std::string name, std::chrono::seconds lifetime)
      : keys_(std::move(keys)), name_(std::move(name)), lifetime_(lifetime) {}

  struct Sealed {
    std::string id;  // Lineward's own session id
    core::ScopeState state;
  };
  // Valid for that server and that principal only; empty when it would be too long.
  std::string sealed_id(const Sealed& session, std::string_view server, std::string_view principal,
                        Time issued) const;
  // Without a replica name it is `id` itself.
  std::string tied_id(std::string_view id) const;
  // Checks the form only; read() verifies it.
  static bool is_tied(std::string_view shown);

  struct Read {
    enum class Kind : uint8_t { none, here, sealed, elsewhere };
    Kind kind = Kind::none;
    Sealed session;       // for `here` only the id
    std::string replica;  // for `elsewhere`
  };
  // `none`: not made by a replica for this server and principal, or expired.
  Read read(std::string_view shown, std::string_view server, std::string_view principal, Time at) const;

  // The mark that proves to a peer that a replica forwarded this very request; valid for a minute.
  std::string mark(std::string_view method, std::string_view target, std::string_view body, Time at) const;
  bool is_marked(std::string_view mark, std::string_view method, std::string_view target,
                 std::string_view body, Time at) const;
  // client_mark() encodes the client's address for the request with this mark. client_of() decodes it; empty
  // where a replica did not write it beside that mark.
  std::string client_mark(std::string_view mark, std::string_view client) const;
  std::string_view client_of(std::string_view client_mark, std::string_view mark, Time at) const;

  const std::string& name() const { return name_; }
  const std::shared_ptr<const SealKeys>& keys() const { return keys_; }

 private:
  Read read_sealed(std::string_view shown, std::string_view server, std::string_view principal,
                   Time at) const;
  Read read_tied(std::string_view shown) const;

  const std::shared_ptr<const SealKeys> keys_;
  const std::string name_;
  const std::chrono::seconds lifetime_;
};

// The links of a replica; a reload replaces them.
struct ReplicaLinks {
  std::shared_ptr<const Replicas> replicas;    // null: a single process
  std::shared_ptr<upstream::PeerLinks> peers;  // null: the other replicas cannot be reached
};

}  // namespace lineward::client
