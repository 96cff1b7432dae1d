// The clients: each has a configuration that names the server, and its operations. Each operation resolves with a value, which is
// compared with the value of the same client without Lineward.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { programOf } from './packages.mjs';
import { Lines, Program, run } from './programs.mjs';

const CALL_MS = 90_000;
const TIMEOUT_S = 5; // of a call that never ends
const LATEST = '2025-11-25';

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** A client with its own home, in front of target: { command } or { url, sse }. */
class Client {
  constructor({ cache, home, env, target, waits }) {
    Object.assign(this, { cache, home, env, target, waits });
  }

  async start() {}
  async end() {}

  write(path, value) {
    const file = join(this.home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
    return file;
  }

  /** An entry of the usual mcpServers. */
  entry(types = {}) {
    const { command, url, sse } = this.target;
    if (command) return { ...(types.stdio && { type: types.stdio }), command: command[0], args: command.slice(1) };
    const type = sse ? types.sse : types.http;
    return { ...(type && { type }), url };
  }

  run(args, ms = CALL_MS) {
    return run([...programOf(this.cache, this.constructor.package), ...args], { env: this.env, cwd: this.home }, ms);
  }
}

/** Starts a process for each operation; SIGINT ends a call. */
class Inspector extends Client {
  static package = 'inspector';
  static speaks = ['stdio', 'http', 'sse'];

  async start() {
    const entry = this.entry({ stdio: 'stdio', http: 'streamable-http', sse: 'sse' });
    this.config = this.write('inspector.json', { mcpServers: { s: entry } });
  }

  args(method, more = []) {
    return ['--cli', '--config', this.config, '--server', 's', '--method', method, ...more, '--format', 'json', '-q'];
  }

  async ask(method, more) {
    const { code, stdout, stderr } = await this.run(this.args(method, more));
    const result = parsed(stdout)?.result ?? parsed(stdout);
    return { code, ...(result ? { result } : { error: parsed(stderr.trim().split('\n').at(-1)) ?? stderr.trim().slice(-500) }) };
  }

  list = () => this.ask('tools/list');
  prompts = () => this.ask('prompts/list');
  resources = () => this.ask('resources/list');
  prompt = ({ name, args }) =>
    this.ask('prompts/get', ['--prompt-name', name, '--prompt-args', ...Object.entries(args).map(([key, value]) => `${key}=${value}`)]);
  resource = (uri) => this.ask('resources/read', ['--uri', uri]);
  callArgs = ({ tool, args }) => ['--tool-name', tool, '--tool-args-json', JSON.stringify(args)];
  call = (call) => this.ask('tools/call', this.callArgs(call));

  async interrupt(call, started) {
    const command = [...programOf(this.cache, 'inspector'), ...this.args('tools/call', this.callArgs(call))];
    const program = new Program(command, { env: this.env, cwd: this.home });
    await started();
    await program.end('SIGINT');
  }
}

/** The same in the revision of 2026-07-28, or the one before where the server lacks it. */
class InspectorAuto extends Inspector {
  static isNewer = true;

  args(method, more) {
    return [...super.args(method, more), '--protocol-era', 'auto'];
  }
}

class Mcporter extends Client {
  static package = 'mcporter';
  static speaks = ['stdio', 'http', 'sse'];

  async start() {
    this.config = this.write('mcporter.json', { mcpServers: { s: this.entry() }, imports: [] });
  }

  async ask(...args) {
    const { code, stdout, stderr } = await this.run(['--config', this.config, ...args]);
    return { code, result: parsed(stdout) ?? (stdout || stderr).trim().slice(-500) };
  }

  async list() {
    const { code, result } = await this.ask('list', 's', '--json');
    return { code, status: result.status, error: result.error, tools: result.tools };
  }
  resources = () => this.ask('resource', 's', '--json');
  resource = (uri) => this.ask('resource', 's', uri, '--json');
  call = ({ tool, args }) => this.ask('call', '--server', 's', '--tool', tool, '--args', JSON.stringify(args), '--output', 'json');

  async interrupt({ tool, args }) {
    const options = ['--args', JSON.stringify(args), '--output', 'json', '--timeout', String(TIMEOUT_S * 1000)];
    return this.ask('call', '--server', 's', '--tool', tool, ...options);
  }
}

/** A bridge process holds the connection between the operations. */
class Mcpc extends Client {
  static package = 'mcpc';
  static speaks = ['stdio', 'http'];

  async start() {
    this.config = this.write('mcpc.json', { mcpServers: { s: this.entry() } });
    // Its bridge process must listen within 5 s, which a busy machine does not allow each time.
    for (let tries = 0; tries < 8 && (tries === 0 || this.connected.error?.error?.includes('socket file not created')); ++tries) {
      this.connected = await this.ask(['connect', `${this.config}:s`, '@s']);
    }
    // It names its target, and the protocol's version over HTTP alone.
    for (const key of ['_mcpc', 'protocolVersion']) delete this.connected.result?.[key];
  }

  async ask(args, options = []) {
    const { code, stdout, stderr } = await this.run(['--json', ...options, ...args]);
    const result = parsed(stdout);
    return { code, ...(result ? { result } : { error: parsed(stderr) ?? stderr.trim().slice(-500) }) };
  }

  connect = async () => this.connected;
  list = () => this.ask(['@s', 'tools-list']);
  prompts = () => this.ask(['@s', 'prompts-list']);
  resources = () => this.ask(['@s', 'resources-list']);
  prompt = ({ name, args }) => this.ask(['@s', 'prompts-get', name, JSON.stringify(args)]);
  resource = (uri) => this.ask(['@s', 'resources-read', uri]);
  call = ({ tool, args }, options) => this.ask(['@s', 'tools-call', tool, JSON.stringify(args)], options);
  interrupt = (call) => this.call(call, ['--timeout', String(TIMEOUT_S)]);

  async end() {
    await this.ask(['close', '@s']);
  }
}

/** `claude mcp list`: the health check of each server. */
class ClaudeMcp extends Client {
  static package = 'claude-code';
  static speaks = ['stdio', 'http', 'sse'];

  async start() {
    this.write('.claude.json', { mcpServers: { s: this.entry({ stdio: 'stdio', http: 'http', sse: 'sse' }) } });
  }

  async connect() {
    const { code, stdout, stderr } = await this.run(['mcp', 'list']);
    const status = /^s: .* - (.*)$/m.exec(stdout)?.[1];
    return { code, status: status ?? (stdout + stderr).trim().slice(-300) };
  }
}

/** `gemini mcp list`: initialize and ping. */
class GeminiMcp extends Client {
  static package = 'gemini';
  static speaks = ['stdio', 'http', 'sse'];

  async start() {
    // By default it waits 5 s for a server.
    const entry = { ...this.entry({ http: 'http', sse: 'sse' }), timeout: CALL_MS };
    const off = { privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false }, general: { enableAutoUpdate: false } };
    this.write('.gemini/settings.json', { mcpServers: { s: entry }, ...off, security: { folderTrust: { enabled: false } } });
  }

  async connect() {
    const { code, stdout, stderr } = await this.run(['mcp', 'list']);
    const status = / s: .* - (\w+)\s*$/m.exec(stdout + stderr)?.[1];
    return { code, status: status ?? (stdout + stderr).trim().slice(-300) };
  }
}

/** `codex app-server`: tools of a thread, called without a model. */
class Codex extends Client {
  static package = 'codex';
  static speaks = ['stdio', 'http'];

  async start() {
    const { command, url } = this.target;
    const text = JSON.stringify;
    const where = command ? `command = ${text(command[0])}\nargs = ${text(command.slice(1))}` : `url = ${text(url)}`;
    const off = 'check_for_update_on_startup = false\n[analytics]\nenabled = false\n[otel]\nexporter = "none"\n';
    const times = `startup_timeout_sec = 60\ntool_timeout_sec = ${this.waits ? TIMEOUT_S : 60}\n`;
    this.write('.codex/config.toml', `${off}[mcp_servers.s]\n${where}\n${times}`);
    this.program = new Program([...programOf(this.cache, 'codex'), 'app-server'], { env: this.env, cwd: this.home, stdin: 'pipe' });
    this.lines = new Lines(this.program);
    await this.lines.request('initialize', { clientInfo: { name: 'interop', title: 'interop', version: '1' } });
    this.lines.send({ method: 'initialized' });
    const { result, error } = await this.lines.request('thread/start', { cwd: this.home, ephemeral: true, approvalPolicy: 'never' });
    if (!result) throw new Error(`thread/start: ${JSON.stringify(error)}`);
    this.threadId = result.thread.id;
    const { params } = await this.lines.inbox.until(
      ({ method, params: { name, status } = {} }) =>
        method === 'mcpServer/startupStatus/updated' && name === 's' && !/starting/i.test(JSON.stringify(status)),
      'the status of the server',
      CALL_MS,
    );
    this.connected = { status: params.status, error: params.error ?? undefined };
  }

  async ask(method, params) {
    const { result, error } = await this.lines.request(method, { threadId: this.threadId, ...params }, CALL_MS);
    return result ? { result } : { error };
  }

  connect = async () => this.connected;
  async list() {
    const { result, error } = await this.ask('mcpServerStatus/list', { serverName: 's', detail: 'full' });
    const [one] = result?.data ?? [];
    return error ? { error } : { tools: one?.tools, resources: one?.resources, resourceTemplates: one?.resourceTemplates };
  }
  resource = (uri) => this.ask('mcpServer/resource/read', { server: 's', uri });
  call = ({ tool, args }) => this.ask('mcpServer/tool/call', { server: 's', tool, arguments: args });
  interrupt = (call) => this.call(call);

  async end() {
    await this.program?.end();
  }
}

/** mcp-remote, started by a client on stdio that is this program. */
class McpRemote extends Client {
  static package = 'mcp-remote';
  static speaks = ['http', 'sse'];

  async start() {
    const { url, sse } = this.target;
    const command = [...programOf(this.cache, 'mcp-remote'), url, '--allow-http', '--transport', sse ? 'sse-only' : 'http-only'];
    this.program = new Program(command, { env: { ...this.env, MCP_REMOTE_CONFIG_DIR: this.home }, cwd: this.home, stdin: 'pipe' });
    this.lines = new Lines(this.program, { answersPings: true });
    const params = { protocolVersion: LATEST, capabilities: {}, clientInfo: { name: 'interop', version: '1' } };
    this.connected = await this.ask('initialize', params);
    this.lines.send({ method: 'notifications/initialized' });
  }

  async ask(method, params) {
    const { result, error } = await this.lines.request(method, params, CALL_MS);
    return error ? { error } : { result };
  }

  connect = async () => this.connected;
  list = () => this.ask('tools/list', {});
  prompts = () => this.ask('prompts/list', {});
  resources = () => this.ask('resources/list', {});
  prompt = ({ name, args }) => this.ask('prompts/get', { name, arguments: args });
  resource = (uri) => this.ask('resources/read', { uri });
  call = ({ tool, args }) => this.ask('tools/call', { name: tool, arguments: args });

  /** A call as a task of 2025-11-25: whether the server made one. */
  async task({ tool, args }) {
    const { result, error } = await this.ask('tools/call', { name: tool, arguments: args, task: { ttl: 60_000 } });
    return result?.task ? { result: 'a task' } : { result, error };
  }

  async interrupt({ tool, args }, started) {
    const requestId = this.lines.next;
    this.call({ tool, args }).catch(() => {});
    await started();
    this.lines.send({ method: 'notifications/cancelled', params: { requestId, reason: 'no longer needed' } });
  }

  async end() {
    await this.program?.end();
  }
}

export const CLIENTS = {
  inspector: Inspector,
  'inspector-auto': InspectorAuto,
  mcporter: Mcporter,
  mcpc: Mcpc,
  codex: Codex,
  'mcp-remote': McpRemote,
  claude: ClaudeMcp,
  gemini: GeminiMcp,
};
