// Rows 5–8: what a server writes that is no line of MCP.
import { corpus } from '../../e2e/datasets/bench.mjs';
import { mib, ms, peakBytes, resetPeak } from '../lib/figures.mjs';

const hex = (bytes) => Buffer.from(bytes, 'latin1').toString('hex');
const utf8 = (text) => Buffer.from(text, 'utf8').toString('latin1');
const answerWith = (text) => `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","content":[{"type":"text","text":"${text}"}]}}\n`;

const GARBAGE = [
  'Server listening…\n', 'npm warn deprecated\r\n', '\x1b[31mred\x1b[0m\n', '\0\0\0\n', '\xef\xbb\xbf{"a":1}\n', '\n\n\r\n', '[]\n', '[1,2]\n',
  '{}\n', '{"jsonrpc":"1.0","id":1}\n', '"text"\n', 'null\n', '{"jsonrpc":"2.0","id":null,"result":{}}\n', '}{\n',
  `${'['.repeat(1000)}\n`, '\xff\xfe\xfd\n', '{"jsonrpc":"2.0","id":{},"result":{}}\n', '{"jsonrpc":"2.0","method":7}\n', '\x07\x08\x7f\x9b2J\n',
];

// With one call in flight these can only be its answer.
const BROKEN = ['{"jsonrpc":"2.0"}\n', '{"jsonrpc":"2.0","error":7}\n'];

async function garbage(ground) {
  const gateway = await ground.gateway({ odd: ground.faulty() });
  const client = ground.client(gateway, 'odd');
  const control = ground.control(gateway);
  const bad = [];
  let raw = 0;
  for (let round = 0; round < ground.count(1, 20); ++round) {
    for (const line of GARBAGE) {
      const got = await client.call('script', { steps: `hex:${hex(line)} err:${hex(line)} answer` });
      if (got.end !== 'ok') bad.push(`${JSON.stringify(line)}: ${got.end} ${got.why}`);
      if (/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(got.text)) ++raw;
    }
  }
  let ended = 0;
  for (const line of BROKEN) {
    const got = await client.call('script', { steps: `hex:${hex(line)} answer` });
    if (got.code === 502 && got.reason === 'upstream_protocol') ++ended;
  }
  ground.check(`${ended} of ${BROKEN.length} broken messages end the only call as upstream_protocol`, ended === BROKEN.length);
  const log = gateway.log;
  const controls = log.split('\n').filter((line) => /[\0-\x08\x0b-\x1f\x7f]/.test(line)).length;
  ground.check(`${GARBAGE.length} kinds of lines: ${bad.length} calls without their answer${bad.length ? ` (${[...new Set(bad)].join(', ')})` : ''}, ${raw} answers and ${controls} log lines with raw control bytes`,
    bad.length === 0 && raw === 0 && controls === 0);
  ground.note(`the ${corpus('stdio-lines').length} files of stdio-lines run as tests/e2e/datasets/stdio-lines.test.mjs`);
  await control.stop();
}

async function partialLine(ground) {
  const quick = { restart: { backoff: '1ms', maxBackoff: '50ms' }, timeouts: { request: '500ms' } };
  const gateway = await ground.gateway({ odd: ground.faulty([], quick) });
  const client = ground.client(gateway, 'odd');
  const control = ground.control(gateway);
  const rounds = ground.count(5, 100);
  const part = hex('{"jsonrpc":"2.0","id":$ID,"resul');
  let eof = 0;
  let late = 0;
  let odd = '';
  for (let i = 0; i < rounds; ++i) {
    const ended = await client.call('script', { steps: `hex:${part} exit:0` });
    eof = Math.max(eof, ended.ms);
    if (ended.reason !== 'upstream_exited') odd ||= `${ended.end} ${ended.reason} ${ended.why}`;
    const back = await client.call('echo');
    if (back.end !== 'ok') odd ||= `next: ${back.end} ${back.why}`;
    // The rest comes later, so that the process is whole again for the next round.
    if (i % 5) continue;
    const silent = await client.call('script', { steps: `hex:${part} wait:700 hex:${hex('t":{}}\n')}` });
    late = Math.max(late, silent.ms - 500);
    if (silent.reason !== 'timeout_request' || silent.code !== 504) odd ||= `${silent.end} ${silent.reason} ${silent.why}`;
    const after = await client.call('sleep', { ms: 250 });
    if (after.end !== 'ok') odd ||= `after the silence: ${after.end} ${after.why}`;
  }
  ground.check(`EOF: 502 in most ${ms(eof)}`, eof <= ground.allow(100));
  ground.check(`silence: 504 at 500 ms + ${ms(late)}`, late <= ground.allow(250, 1000));
  ground.check(`${odd || 'none ended otherwise'}`, !odd);
  await control.stop();
}

async function endlessLine(ground) {
  const limits = { maxMessageBytes: '16MiB' };
  const gateway = await ground.gateway({ odd: ground.faulty([], { limits, restart: { backoff: '1ms', maxBackoff: '50ms' } }) });
  const client = ground.client(gateway, 'odd');
  const control = ground.control(gateway);
  for (const size of ground.quick ? [20] : [20, 1024]) {
    resetPeak(gateway.pid);
    const before = peakBytes(gateway.pid);
    const got = await client.call('script', { steps: `big:${size} answer` });
    const growth = peakBytes(gateway.pid) - before;
    ground.check(`${size} MiB: ${got.code} ${got.reason} in ${ms(got.ms)}, RSS peak +${mib(growth)}`,
      got.code === 502 && growth <= (ground.sanitized ? 100 : 18 + 16) * 2 ** 20);
    const next = await client.call('echo');
    ground.check(`next call ${next.end}`, next.end === 'ok');
  }
  await control.stop();
}

async function utf8Rows(ground) {
  const gateway = await ground.gateway({ odd: ground.faulty([], { timeouts: { request: '500ms' } }) });
  const client = ground.client(gateway, 'odd');
  const control = ground.control(gateway);
  let bad = 0;
  let kept = 0;
  const broken = ['\xff', '\xc3', '\xe2\x82', '\xf0\x9f\x98', '\xc0\x80', '\xed\xa0\x80', '\xf4\x90\x80\x80'];
  for (const bytes of broken) {
    const got = await client.call('script', { steps: `hex:${hex(answerWith(bytes))}` });
    if (got.end === 'error' && got.code > 0) ++kept;
  }
  ground.check(`invalid UTF-8: ${kept} of ${broken.length} ended as errors`, kept === broken.length);
  const text = 'é漢😀';
  const line = utf8(answerWith(text));
  const offsets = Buffer.from(line, 'latin1').length;
  let rounds = 0;
  for (let at = 1; at < offsets; at += 1) {
    // $ID must stay whole in one piece.
    const from = line.indexOf('$ID');
    if (at > from && at < from + 3) continue;
    const got = await client.call('script', { steps: `hex:${hex(line.slice(0, at))} wait:1 hex:${hex(line.slice(at))}` });
    ++rounds;
    if (got.message?.result?.content[0].text !== text) ++bad;
  }
  const each = await client.call('script', { steps: `each:${hex(line)}` });
  if (each.message?.result?.content[0].text !== text) ++bad;
  ground.check(`split at ${rounds} offsets and into single bytes: ${bad} not byte-exact`, bad === 0);
  await control.stop();
}

export const lines = [
  { n: 5, fault: 'garbage lines, banners, ANSI, NUL, BOM', bar: 'dropped; the answer arrives; no raw byte in log or answer', run: garbage },
  { n: 6, fault: 'partial line then EOF; then silence', bar: 'error ≤ 100 ms; 504 at the deadline', run: partialLine },
  { n: 7, fault: '20 MB line without newline; 1 GB', bar: 'refused at 16 MiB with 502, child restarted; RSS ≤ +18 MB + 2 buffers', run: endlessLine },
  { n: 8, fault: 'invalid UTF-8; UTF-8 split at every offset', bar: 'error; byte-exact', run: utf8Rows },
];
