"""Where a cell is worse than direct, and why that is right. (client, server, road, feature), with "*" for any."""

KNOWN = {
}
