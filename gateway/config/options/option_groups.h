// Option rows that options() adds to its own, each defined in options_GROUP.cc.
#pragma once

#include <vector>

#include "config/options/options.h"

namespace lineward::config {

// For the aggregate (docs/many-servers.md).
void add_aggregate_rows(std::vector<Option>& rows);
// Options of one server within the aggregate.
void add_part_rows(std::vector<Option>& rows);
// For the audit log (docs/audit.md).
void add_audit_rows(std::vector<Option>& rows);
// For overload and process limits.
void add_listen_limits(std::vector<Option>& rows);
void add_server_limits(std::vector<Option>& rows);
// For replicas (docs/replicas.md).
void add_replica_rows(std::vector<Option>& rows);
// For `listen.tls`.
void add_tls_rows(std::vector<Option>& rows);

}  // namespace lineward::config
