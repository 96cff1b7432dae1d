// Which modern callers of a legacy server may share a process or a session, and what it is initialised with
// (behaviour.md 5).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "core/upstream.h"

namespace lineward::upstream {

struct TranslatedPlan {
  std::string key;
  std::string initialize_params;
  // The callers can be asked: one call that may ask at a time, so that every question has an owner.
  bool exclusive = false;
  uint32_t most = 1;  // processes or sessions
};

// `call_number`: a new one for each call that is to have a process of its own (isolation: call).
Result<TranslatedPlan, core::Failure> translated_plan(const config::Server& server,
                                                      const core::CallRequest& request, uint64_t call_number);

}  // namespace lineward::upstream
