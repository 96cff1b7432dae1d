// Operations that are worse than direct, with their reasons: { at: [client, server, road, operation], reason }, '*' stands for any. The
// run fails when one of these is no longer worse.
export const KNOWN = [];
