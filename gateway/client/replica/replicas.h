// Session ids where several replicas stand behind one address (docs/replicas.md), and the mark on a request
// that a replica passes to another.
//
// An id that begins with `lws1.` is sealed: it holds what any replica needs to go on with the session,
// encrypted under the common key. One that reads `lwr1~NAME~ID~MAC` is tied: only the replica of that name
// can serve it.
//
// Immutable and shared; a reload makes another.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/seal_keys.h"
#include "core/portable_scopes.h"

namespace lineward::core {
class PeerApi;
}

namespace lineward::client {

inline constexpr std::string_view kPassedHeader = "Lineward-Passed";
// Beside it: for whom it is passed. A header of its own, so that a replica of before it goes on by the mark.
inline constexpr std::string_view kPassedForHeader = "Lineward-Passed-For";

class Replicas {
 public:
  // Since 1970: all replicas need the same one.
  using Time = std::chrono::seconds;
  static Time now();

  // The longest id that is made; a session that would need a longer one is tied to its replica.
  static constexpr size_t kMaxId = 2048;

  Replicas(std::shared_ptr<const SealKeys> keys, std::string name, std::chrono::seconds lifetime)
      : keys_(std::move(keys)), name_(std::move(name)), lifetime_(lifetime) {}

  struct Sealed {
    std::string id;  // Lineward's own name of the session
    core::ScopeState state;
  };
  // For that server and that principal alone; empty when it would be too long.
  std::string sealed_id(const Sealed& session, std::string_view server, std::string_view principal,
                        Time issued) const;
  // Without a name of our own it is `id` itself.
  std::string tied_id(std::string_view id) const;
  // It looks like one; read() tells whether it is.
  static bool is_tied(std::string_view shown);

  struct Read {
    enum class Kind : uint8_t { none, here, sealed, elsewhere };
    Kind kind = Kind::none;
    Sealed session;       // of `here`, its id alone
    std::string replica;  // of `elsewhere`
  };
  // `none`: nobody could have made it for them, or its time is over.
  Read read(std::string_view shown, std::string_view server, std::string_view principal, Time at) const;

  // What tells a peer that this very request was passed by one of us; good for a minute.
  std::string mark(std::string_view method, std::string_view target, std::string_view body, Time at) const;
  bool is_marked(std::string_view mark, std::string_view method, std::string_view target,
                 std::string_view body, Time at) const;
  // What tells it from which address the client of the request with this mark came. And that address, which
  // is empty where this is not what one of us wrote beside that mark.
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

// What makes this process one of several; a reload replaces it.
struct ReplicaLinks {
  std::shared_ptr<const Replicas> replicas;  // null: this process is alone
  std::shared_ptr<core::PeerApi> peers;      // null: the others cannot be asked
};

}  // namespace lineward::client
