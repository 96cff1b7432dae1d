#include "operate/admin/denial.h"

#include "foundation/log/log.h"
#include "proxy/audit/audit.h"

namespace lineward::admin {

void tell_denied(const PlainRequest& request, std::string_view who, int status) {
  log::write(log::Level::warn, "admin.denied",
             {{"remote", request.peer},
              {"uid", request.uid ? int64_t{*request.uid} : int64_t{-1}},
              {"status", status}});
  audit::record(audit::Kind::refusal, {{"who", who},
                                       {"from", request.peer},
                                       {"to", "admin API"},
                                       {"http", request.head.method},
                                       {"path", request.path},
                                       {"status", status}});
}

}  // namespace lineward::admin
