// Cells that fail and are known to, each with the reason. A cell that is listed and passes fails the run.
//
//   { feature, servers, version, error, reason }: the row, the short names of the servers, the revision of the client, and
//   what the check then says
export const KNOWN = [];
