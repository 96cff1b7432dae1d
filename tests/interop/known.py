"""Where a cell is worse than direct, and why. (client, server, road, feature), with "*" for any."""

CHUNKED = "Mojolicious 9.53 reads no event stream in a body with Transfer-Encoding: chunked; answers without progress and log are JSON"

UNREQUESTED = "rmcp's server sends log lines to a call without logLevel, which 2026-07-28 forbids; Lineward drops them (behaviour.md 5)"

KNOWN = {
    ("perl", "*", "*", "progress"): CHUNKED,
    ("perl", "*", "*", "log"): CHUNKED,
    ("rust-modern", "rust", "stdio CMD", "log"): UNREQUESTED,
}
