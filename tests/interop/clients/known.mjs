// Operations that are worse than direct, with their reasons: { at: [client, server, road, operation], reason }, '*' stands for any. The
// run fails when one of these is no longer worse.
export const KNOWN = [
  {
    at: ['mcp-remote', 'azure', '*', 'list'],
    reason: "@azure/mcp lists other tools over HTTP than on stdio, and mcp-remote's direct way is HTTP",
  },
];
