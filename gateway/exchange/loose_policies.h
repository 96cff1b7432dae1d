// What policies make of messages that belong to no exchange: clients' notifications and answers, and what
// servers say to legacy sessions. A plugin may change the message on its way.
//
// Nothing is kept: the caller hands in the plugins of the moment, and they stay until the function returns,
// even where one of them has them replaced. Without any plugins every message passes.
//
// Errors: a refusal is returned and written to the log; who sent the message is answered, or not, by the
// caller.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/exchange_api.h"
#include "core/upstream.h"
#include "mcp/message.h"
#include "plugin/plugin_set.h"

namespace lineward::exchange {

using Plugins = std::shared_ptr<plugin::PluginSet>;

// A message of a client, before it goes anywhere. What its sender is told, or nothing when it may pass.
// `legacy`: how a rate limit refuses one of a legacy session.
std::optional<core::Denial> judge_of_client(Plugins plugins, core::Arrival& arrival,
                                            config::LegacyStatus legacy);

// A message of this server to the legacy session of this scope. Why it goes no further, or nothing.
std::optional<std::string> judge_of_server(Plugins plugins, const std::string& upstream,
                                           const core::Scope& scope, mcp::Message& message);

}  // namespace lineward::exchange
