// The clients of the matrix, of both SDK lines, with one face: what a feature's check calls is the same for all.
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { bounded, Inbox } from '../lib/events.mjs';
import { LEGACY, MODERN } from '../lib/target.mjs';

const INFO = { name: 'lineward-matrix', version: '1.0.0' };
const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };
const CLOSE_MS = 5_000;

const QUESTIONS = {
  'elicitation/create': types.ElicitRequestSchema,
  'sampling/createMessage': types.CreateMessageRequestSchema,
  'roots/list': types.ListRootsRequestSchema,
};
const NEWS = {
  'notifications/tools/list_changed': types.ToolListChangedNotificationSchema,
  'notifications/resources/updated': types.ResourceUpdatedNotificationSchema,
  'notifications/message': types.LoggingMessageNotificationSchema,
};

/** Common parts of both lines. `answers` is the check's: a question's method to what answers its params. */
class Party {
  constructor(client, era) {
    Object.assign(this, { client, era, answers: {}, asked: [], news: new Inbox() });
    // Notifications without a handler, such as elicitation/complete, are seen as well.
    client.fallbackNotificationHandler = async (notification) => this.news.put(notification);
  }

  answer(method, { params }) {
    this.asked.push({ method, params });
    const how = this.answers[method];
    if (!how) throw new Error(`the check did not expect ${method}`);
    return how(params);
  }

  /** The news of one method since a mark, which mark() gives. */
  mark() {
    return this.news.items.length;
  }

  since(mark, method) {
    return this.news.items.slice(mark).filter((one) => one.method === method);
  }

  newsOf(mark, method, what = method, ms) {
    return this.news.when(() => this.since(mark, method)[0], what, ms);
  }
}

class Line1 extends Party {
  constructor() {
    super(new LegacyClient(INFO, { capabilities: CAPABILITIES }), 'legacy');
    for (const [method, schema] of Object.entries(QUESTIONS))
      this.client.setRequestHandler(schema, (request) => this.answer(method, request));
    for (const schema of Object.values(NEWS))
      this.client.setNotificationHandler(schema, (notification) => this.news.put(notification));
  }

  transportTo(target, env) {
    return target.url
      ? new LegacyHttp(new URL(target.url))
      : new LegacyStdio({ ...target, env: { ...process.env, ...env }, stderr: 'pipe' });
  }

  call(name, args = {}, options = {}) {
    return this.client.callTool({ name, arguments: args }, undefined, options);
  }

  speaks() {
    return this.client.transport.protocolVersion ?? LEGACY; // the stdio transport is not told
  }
}

class Line2 extends Party {
  constructor(era, options) {
    super(new ModernClient(INFO, { capabilities: CAPABILITIES, ...options }), era);
    for (const method of Object.keys(QUESTIONS))
      this.client.setRequestHandler(method, (request) => this.answer(method, request));
    for (const method of Object.keys(NEWS))
      this.client.setNotificationHandler(method, (notification) => this.news.put(notification));
  }

  transportTo(target, env) {
    return target.url
      ? new ModernHttp(new URL(target.url))
      : new ModernStdio({ ...target, env: { ...process.env, ...env }, stderr: 'pipe' });
  }

  call(name, args = {}, options = {}) {
    const _meta = this.level && { 'io.modelcontextprotocol/logLevel': this.level };
    return this.client.callTool({ name, arguments: args, ...(_meta && { _meta }) }, options);
  }

  speaks() {
    return this.client.getNegotiatedProtocolVersion();
  }
}

/** How a party of sessions subscribes and sets its log level. */
const inSessions = {
  async watch(uri) {
    await this.client.subscribeResource({ uri });
    return () => this.client.unsubscribeResource({ uri });
  },
  watchTools: async () => async () => {}, // every session gets these
  setLevel(level) {
    return this.client.setLoggingLevel(level);
  },
};

/** The same in 2026-07-28. */
const inRequests = {
  async listen(filter) {
    const subscription = await this.client.listen(filter);
    return async () => {
      await subscription.close();
      await subscription.closed;
    };
  },
  watch(uri) {
    return this.listen({ resourceSubscriptions: [uri] });
  },
  watchTools() {
    return this.listen({ toolsListChanged: true });
  },
  async setLevel(level) {
    this.level = level; // goes with each call
  },
};

const session = (party) => Object.assign(party, inSessions);
const requests = (party) => Object.assign(party, inRequests);
const negotiation = (mode) => ({ versionNegotiation: { mode } });

export const CLIENTS = [
  { name: 'SDK 1.x, session', version: LEGACY, make: () => session(new Line1()) },
  { name: 'SDK 2.x, pinned', version: MODERN, make: () => requests(new Line2('modern', negotiation({ pin: MODERN }))) },
  { name: 'SDK 2.x, negotiating', version: MODERN, make: () => requests(new Line2('modern', negotiation('auto'))) },
  { name: 'SDK 2.x, session', version: LEGACY, make: () => session(new Line2('legacy', {})) },
];

/** A connected party; said() is what the process of its transport wrote to stderr, close() ends it. */
export async function connect({ make }, target, env) {
  const party = make();
  const transport = party.transportTo(target, env);
  let said = '';
  transport.stderr?.on('data', (chunk) => (said = (said + chunk).slice(-100_000)));
  party.said = () => said;
  party.close = async () => {
    const goodbye = transport.sessionId && transport.terminateSession?.();
    await bounded(Promise.resolve(goodbye), CLOSE_MS, 'the DELETE of a session').catch(() => {});
    await party.client.close();
  };
  await party.client.connect(transport);
  party.pid = transport.pid;
  return party;
}
