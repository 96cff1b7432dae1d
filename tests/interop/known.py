"""Where a cell is worse than direct, and why. (client, server, road, feature), with "*" for any."""

CHUNKED = "Mojolicious 9.53 reads no event stream in a body with Transfer-Encoding: chunked; answers without progress and log are JSON"

KNOWN = {
    ("perl", "*", "*", "progress"): CHUNKED,
    ("perl", "*", "*", "log"): CHUNKED,
}
