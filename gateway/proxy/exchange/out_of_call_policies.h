// Policies for messages that belong to no exchange: clients' notifications and answers, and servers' messages
// to legacy sessions. A plugin may change the message.
//
// Stateless: the caller passes the current plugins. They stay alive until the function returns, even if one
// of them causes their replacement. Without plugins every message passes.
//
// Errors: a refusal is returned and logged; the caller answers the sender, or does not.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "protocol/mcp/message.h"
#include "proxy/core/exchange_api.h"
#include "proxy/core/upstream.h"
#include "proxy/plugin/plugin_set.h"

namespace lineward::exchange {

using Plugins = std::shared_ptr<plugin::PluginSet>;

// Judges a message of a client before it is forwarded. Returns the denial for its sender, or nullopt: it
// passes. `legacy`: how a rate limit refuses a message of a legacy session.
std::optional<core::PolicyError> judge_of_client(Plugins plugins, core::IncomingMessage& arrival,
                                                 config::LegacyStatus legacy);

// Judges a message of this server to the legacy session of this scope, which was opened at this listener.
// Returns why it is dropped, or nullopt.
std::optional<std::string> judge_of_server(Plugins plugins, const std::string& upstream,
                                           const std::string& listener, const core::Scope& scope,
                                           mcp::Message& message);

}  // namespace lineward::exchange
