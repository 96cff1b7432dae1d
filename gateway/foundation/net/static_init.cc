#include "foundation/net/static_init.h"

#ifdef LINEWARD_STATIC
#include <nss.h>
#include <openssl/crypto.h>
#endif

namespace lineward::net {

void use_only_what_is_linked_in() {
#ifdef LINEWARD_STATIC
  // nsswitch.conf names modules that are shared objects of the machine's C library (mymachines, resolve, sss,
  // mdns); loading one would load that library too. These two are linked in: /etc/hosts, then the servers and
  // search domains of resolv.conf.
  __nss_configure_lookup("hosts", "files dns");
  for (const char* database : {"passwd", "group", "services", "networks", "protocols"})
    __nss_configure_lookup(database, "files");
  // The machine's openssl.cnf may name providers and engines, which are shared objects too.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
#endif
}

}  // namespace lineward::net
