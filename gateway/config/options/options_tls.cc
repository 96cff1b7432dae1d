#include "config/options/option_groups.h"

#include "config/options/option_row.h"

namespace lineward::config {
using namespace rows;

// `certificates` is a list of maps, which the table does not have (config/reader/tls.cc).
void add_tls_rows(std::vector<Option>& rows) {
  using T = ListenTls;
  constexpr auto k = &Config::listen;
  constexpr auto t = &Listen::tls;
  rows.push_back(row<k, t, &T::certificate>("listen.tls.certificate", Kind::text, "", {},
                                            "Clients have to use TLS: the certificate for them, PEM with its "
                                            "chain. Read again when the file changes."));
  rows.push_back(row<k, t, &T::key>(
      "listen.tls.key", Kind::text, "", {},
      "The key of the certificate, PEM; not needed if the certificate's file contains it."));
  rows.push_back(row<k, t, &T::ocsp>(
      "listen.tls.ocsp", Kind::text, "", {},
      "An OCSP response, DER, that is sent with the certificate. Another program has to renew it."));
  rows.push_back(choice<k, t, &T::min_version>("listen.tls.minVersion", "1.2|1.3", "1.2",
                                               "The oldest version of TLS that is accepted."));
  rows.push_back(row<k, t, &T::self_signed>(
      "listen.tls.selfSigned", Kind::flag, "false", {},
      "For trying TLS: a certificate for localhost, made anew at each start (also run --tls-self-signed)."));
  rows.push_back(row<k, t, &T::client_authorities>(
      "listen.tls.clientCertificates.authorities", Kind::text, "", {},
      "Authorities of client certificates, PEM. A client that shows a certificate of theirs is the principal "
      "certificate:NAME."));
  rows.push_back(row<k, t, &T::client_names>(
      "listen.tls.clientCertificates.names", Kind::list, "", {},
      "Names that may call, by glob: a URI, DNS name or e-mail address of the certificate, else its common "
      "name. Empty: all."));
  rows.push_back(row<k, t, &T::client_required>(
      "listen.tls.clientCertificates.required", Kind::flag, "false", {},
      "A client without a certificate of these authorities is refused in the handshake."));
}

}  // namespace lineward::config
