// Operations that are worse than direct, with their reasons: { at: [client, server, road, operation], reason }, '*' stands for any. The
// run fails when one of these is no longer worse.
export const KNOWN = [
  {
    at: ['mcp-remote', 'azure', '*', 'list'],
    reason: "@azure/mcp lists other tools over HTTP than on stdio, and mcp-remote's direct way is HTTP",
  },
  {
    at: ['*', 'everything', 'aggregate', 'task'],
    reason: 'several servers at one endpoint have no tasks of 2025-11-25',
  },
  {
    at: ['mcpc', 'everything', 'aggregate', 'list'],
    reason: 'server-everything shows a tool only to clients with tasks of 2025-11-25, which several servers at one endpoint do not have',
  },
  {
    at: ['mcpc', 'filesystem', 'aggregate', 'large'],
    reason: 'mcpc breaks letters of several bytes at the edges of its own reads (findings/mcpc-breaks-letters.sh), and these are elsewhere here',
  },
];

/** The entry for an operation of a cell, or undefined. */
export const knownAt = (...place) => KNOWN.find(({ at }) => at.every((want, index) => want === '*' || want === place[index]));
