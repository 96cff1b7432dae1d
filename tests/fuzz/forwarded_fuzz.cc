// Forwarded and X-Forwarded-For. A client writes any bytes, and a trusted proxy adds its entry behind them. In a
// list of X-Forwarded-For, and in a field of its own, that entry is the client. The result is an address.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "foundation/base/check.h"
#include "foundation/net/networks.h"
#include "proxy/client/http/forwarded.h"

using namespace lineward;
using config::ClientHeader;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const net::Networks trusted = *net::Networks::parse({"10.0.0.0/8", "fd00::/8"});
  const std::string claimed(reinterpret_cast<const char*>(data), size);
  const std::string mine = "192.0.2.7";
  {
    http::HeaderList alone;
    alone.add("Forwarded", claimed);
    alone.add("X-Forwarded-For", claimed);
    for (ClientHeader which :
         {ClientHeader::either, ClientHeader::forwarded, ClientHeader::x_forwarded_for}) {
      const auto found = client::forwarded_client(alone, which, trusted);
      LW_CHECK(found.address.empty() || net::address_in(found.address).has_value());
      LW_CHECK(!found.disagrees || (found.address.empty() && which == ClientHeader::either));
    }
  }
  {
    http::HeaderList list;
    const std::string value = claimed + ", " + mine + ", 10.0.0.1";
    list.add("X-Forwarded-For", value);
    LW_CHECK(client::forwarded_client(list, ClientHeader::either, trusted).address == mine);
  }
  {
    http::HeaderList fields;
    fields.add("Forwarded", claimed);
    fields.add("Forwarded", "for=192.0.2.7");
    LW_CHECK(client::forwarded_client(fields, ClientHeader::either, trusted).address == mine);
  }
  {
    // In one field a quotation of the client may reach into the proxy's entry: then no client is found.
    http::HeaderList field;
    const std::string value = claimed + ", for=192.0.2.7";
    field.add("Forwarded", value);
    const auto found = client::forwarded_client(field, ClientHeader::either, trusted);
    LW_CHECK(found.address.empty() || found.address == mine);
  }
  return 0;
}
