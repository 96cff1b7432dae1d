// `listen.tls`: the list of certificates, and findings about the files.
#pragma once

#include <string>

#include "config/reader/document.h"
#include "config/reader/load.h"
#include "config/reader/value_reader.h"

namespace lineward::config {

// `certificates: [{certificate, key, ocsp}]`.
void read_certificates(ValueReader& values, const Member& member, ListenTls& tls);

// Makes paths absolute. Reads the files unless `options` forbids it, and reports keys of another certificate,
// chains out of order, missing names, and dates. `section`: the listener's, by that name; null: it is not in
// the file.
void check_tls(const Member* section, const std::string& name, Listen& listen, const LoadOptions& options,
               LoadResult& result);

}  // namespace lineward::config
