// The web console in a browser, in front of a real gateway with real calls.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe } from 'node:test';
import { binary } from '../lib/binary.mjs';
import { accessibilityFaults, noBrowser, openBrowser } from '../lib/browser.mjs';
import { fixtureRecord, temporaryFolder } from '../lib/events.mjs';
import { startGatewayFrom } from '../lib/gateway.mjs';
import { callTool, eventually, get } from '../lib/operator.mjs';
import { plainFixture } from '../lib/servers.mjs';
import { DIRECT } from '../lib/target.mjs';
import { test } from '../lib/test.mjs';

const skip = DIRECT || noBrowser;
const server = (command, more = {}) => ({ command: command[0], args: command.slice(1), inheritEnv: true, ...more });
const ADMIN = /Admin {4}(http:\/\/[^/\s]+)\/api\/v1/;

/** A gateway with the admin API on TCP: {gateway, root, call}. */
async function running(t, { admin = {}, servers = {}, listen = {}, env = {} } = {}) {
  const gateway = await startGatewayFrom(
    t,
    {
      listen: { address: '127.0.0.1:0', ...listen },
      ops: { address: 'off' },
      admin: { address: '127.0.0.1:0', ...admin },
      // A call lasts as long as its test, on a busy machine, too.
      defaults: { timeouts: { request: '5m' } },
      mcpServers: { github: server(plainFixture()), other: server(plainFixture()), ...servers },
    },
    { env },
  );
  const root = await eventually(() => ADMIN.exec(gateway.stderr())?.[1], 'the address of the admin API');
  const call = (args, name = 'slow', at = 'github') => {
    const one = callTool(`${gateway.url}/${at}`, name, args);
    // Before the gateway ends, which would wait for it.
    t.after(() => one.abort());
    return one;
  };
  return { gateway, root, call };
}

const calls = async (root) => (await (await fetch(`${root}/api/v1/calls`)).json()).calls;
const row = (page) => page.locator('#calls-table tbody tr[data-id]');

describe('the console', { skip }, () => {
  test('Cancel says that it was asked, and then that the server has stopped; the server was told', async (t) => {
    const record = fixtureRecord(t);
    const { root, call } = await running(t, { env: record.env });
    const { page, faults, hosts } = await openBrowser(t);
    await page.goto(`${root}/console`);
    const slow = call({ onCancel: 'error' });
    await row(page).getByText('61/100').waitFor();
    const id = await row(page).first().getAttribute('data-id');
    assert.match(await row(page).first().innerText(), /slow/);
    const age = row(page).first().locator('td').first();
    const before = await age.innerText();
    await page.waitForFunction(([was]) => document.querySelector('#calls-table tr[data-id] td').textContent !== was, [before]);
    await page.getByRole('button', { name: `Cancel ${id}`, exact: true }).click();
    await row(page).getByText('the server has stopped').waitFor();
    assert.match(await page.locator('#status').innerText(), new RegExp(`${id}: the server has stopped`));
    assert.equal((await slow.answer).error.code, 499);
    await record.until({ event: 'cancelled', tag: 'slow' });
    await page.locator('#ended-table').getByText('cancelled_operator').waitFor();
    await page.goto(`${root}/console#/call/${id}`);
    for (const step of ['arrived', 'sent to its server github', 'given up, the server is told', 'the server has stopped'])
      await page.locator('#drawer').getByText(step).first().waitFor();
    assert.deepEqual(faults, []);
    assert.deepEqual([...hosts], [new URL(root).host], 'nobody else is asked');
  });

  test('by keys alone: j, Enter, Esc, x, c, / and ?', async (t) => {
    const { root, call } = await running(t);
    const first = call({ onCancel: 'error' });
    const second = call({ onCancel: 'error' });
    const { page, faults } = await openBrowser(t);
    await page.goto(`${root}/console`);
    await row(page).nth(1).waitFor();
    await page.keyboard.press('j');
    const id = await page.evaluate(() => document.activeElement.dataset.id);
    await page.keyboard.press('Enter');
    await page.locator('#drawer').getByText(`Call ${id}`).waitFor();
    assert.equal(new URL(page.url()).hash, `#/call/${id}`);
    await page.keyboard.press('Escape');
    await page.locator('#drawer').waitFor({ state: 'hidden' });
    assert.equal(await page.evaluate(() => document.activeElement.dataset.id), id, 'the focus comes back');
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.keyboard.press('c');
    await page.getByRole('dialog').getByText('Cancel 2 calls?').waitFor();
    await page.keyboard.press('Enter'); // in the field of the reason
    for (const { answer } of [first, second]) assert.equal((await answer).error.code, 499);
    await page.keyboard.press('/');
    await page.keyboard.type('slo');
    await page.waitForFunction(() => location.hash.includes('find=slo'));
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('next, previous call').waitFor();
    assert.deepEqual(faults, []);
  });

  test('calls that came together stand in the order of their arrival, whatever their ages say', async (t) => {
    const { root, call } = await running(t);
    call({ onCancel: 'error' });
    const { page } = await openBrowser(t);
    await eventually(async () => (await calls(root)).length === 1, 'the first call');
    call({ onCancel: 'error' });
    await eventually(async () => (await calls(root)).length === 2, 'the second call');
    // The second one was asked about later, by a machine that had other things to do.
    await page.route('**/api/v1/calls*', async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      body.calls.at(-1).age_ms = body.calls[0].age_ms + 1000;
      await route.fulfill({ response, json: body });
    });
    await page.goto(`${root}/console`);
    await row(page).nth(1).waitFor();
    const shown = await row(page).evaluateAll((rows) => rows.map((one) => one.dataset.id));
    assert.deepEqual(shown, (await calls(root)).map(({ id }) => id));
  });

  test('a row that moves keeps the focus', async (t) => {
    const { root, call } = await running(t);
    call({ onCancel: 'error' });
    call({ onCancel: 'error' });
    const { page } = await openBrowser(t);
    await page.goto(`${root}/console`);
    await row(page).nth(1).waitFor();
    const ids = () => page.evaluate(() => [...document.querySelectorAll('#calls-table tbody tr[data-id]')].map((one) => one.dataset.id));
    const before = await ids();
    await row(page).nth(1).focus();
    // As after an event about a call: the order changes without any key press.
    await page.evaluate(() => document.querySelector('#calls-table th[data-sort="age"] button').click());
    await page.waitForFunction(([first]) => document.querySelector('#calls-table tbody tr[data-id]').dataset.id === first, [before[1]]);
    assert.deepEqual(await ids(), [...before].reverse());
    assert.equal(await page.evaluate(() => document.activeElement.dataset.id), before[1]);
  });

  test('a server is stopped and started; the question says how many calls die', async (t) => {
    const { root, call } = await running(t);
    const slow = call({ onCancel: 'error' });
    const { page } = await openBrowser(t);
    await page.goto(`${root}/console`);
    await row(page).first().waitFor();
    await page.waitForFunction(() => /^1\//.test(document.querySelector('#servers-table tbody td.n')?.textContent));
    await page.getByRole('button', { name: 'Stop github', exact: true }).click();
    await page.getByRole('dialog').getByText('1 call in flight will be cancelled.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop', exact: true }).click();
    assert.equal((await slow.answer).error.code, 499);
    await page.getByRole('button', { name: 'Start github', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByRole('button', { name: 'Stop github', exact: true }).waitFor();
  });

  test('dark and light, wide and narrow: axe finds nothing, and nothing is wider than the screen', { timeout: 240_000 }, async (t) => {
    const { root, call } = await running(t, {
      servers: { broken: server([process.execPath, '-e', 'console.error("no such module"); process.exit(1)']) },
    });
    call({ onCancel: 'error' });
    await call({ nonce: 'a' }, 'echo').answer;
    const { page } = await openBrowser(t);
    for (const [colorScheme, width] of [['light', 1400], ['dark', 360]]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`${root}/console`);
      await row(page).first().waitFor();
      await page.locator('#ended-table').getByText('echo').waitFor();
      assert.deepEqual(await accessibilityFaults(page), [], `${colorScheme}, ${width} px`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide} of ${width} px`);
      await row(page).first().getByRole('button', { name: /Story/ }).click();
      await page.locator('#drawer').getByText('arrived').waitFor();
      assert.deepEqual(await accessibilityFaults(page), [], `the drawer, ${colorScheme}, ${width} px`);
    }
  });

  test('names of tools and servers are whole, wide and narrow', async (t) => {
    const { root, call } = await running(t);
    call({ onCancel: 'error' });
    const { page, faults } = await openBrowser(t);
    await eventually(async () => (await calls(root)).length === 1, 'the call');
    const name = 'trigger-long-running-operation';
    await page.route('**/api/v1/calls*', async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      for (const one of body.calls) Object.assign(one, { target: name, upstream: 'everything-of-2026', client: 'inspector-client 2.12' });
      await route.fulfill({ response, json: body });
    });
    for (const width of [1600, 1280, 900, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`${root}/console`);
      await row(page).first().waitFor();
      const cells = await page.evaluate(() => {
        const whole = (one) => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight + 2;
        const [, , , what, server] = document.querySelector('#calls-table tr[data-id]').cells;
        const box = document.getElementById('calls-scroll').getBoundingClientRect();
        const shown = server.offsetWidth > 0 ? server : what.querySelector('.at');
        const name = what.querySelector('b');
        return {
          words: [name.textContent, shown.textContent],
          whole: [whole(what) || whole(name), whole(shown)],
          inside: [what, shown].every((one) => one.getBoundingClientRect().right <= box.right + 1),
        };
      });
      assert.deepEqual(cells, { words: [name, 'everything-of-2026'], whole: [true, true], inside: true }, `${width} px`);
    }
    assert.deepEqual(faults, []);
  });

  test('without JavaScript: tables, and a form that cancels; not from elsewhere, and not without its token', async (t) => {
    const { root, call } = await running(t);
    const slow = call({ onCancel: 'error' });
    const { page } = await openBrowser(t, { javaScriptEnabled: false });
    const cancel = page.getByRole('button', { name: /^Cancel c/ });
    await eventually(async () => {
      await page.goto(`${root}/console`);
      return (await cancel.count()) === 1;
    }, 'a row of the call');
    const host = new URL(root).host;
    const post = (body, headers = {}) =>
      get(host, '/console/do', { method: 'POST', headers: { host, 'content-type': 'application/x-www-form-urlencoded', ...headers }, body });
    const token = await page.locator('input[name="form"]').first().inputValue();
    const id = await page.locator('input[name="id"]').first().inputValue();
    assert.equal((await post(`do=cancel&id=${id}`)).status, 403);
    assert.equal((await post(`form=${token}x&do=cancel&id=${id}`)).status, 403);
    assert.equal((await post(`form=${token}&do=cancel&id=${id}`, { origin: 'http://elsewhere.example' })).status, 403);
    await cancel.click();
    await page.getByText(`${id}: cancelled, its server was asked to stop`).waitFor();
    assert.equal((await slow.answer).error.code, 499);
    await page.locator('#ended-table').getByText('cancelled_operator').waitFor();
    const { headers } = await get(host, '/console', { headers: { host } });
    assert.match(headers['content-security-policy'], /^default-src 'none'; script-src 'self'; style-src 'self';/);
  });

  test('admin.tokenFile: a login; the role read sees no buttons, and a token that is taken away ends it', async (t) => {
    const tokens = join(temporaryFolder(t), 'tokens');
    writeFileSync(tokens, 'read reader-token-0123456\noperate operator-token-0123\n');
    const { root, call } = await running(t, { admin: { tokenFile: tokens } });
    call({ onCancel: 'error' });
    const host = new URL(root).host;
    assert.equal((await get(host, '/console', { headers: { host } })).status, 401);
    const { page } = await openBrowser(t);
    await page.goto(`${root}/console`);
    await page.getByLabel('admin.tokenFile').fill('wrong-token-0123456');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByText('That is no token of it.').waitFor();
    await page.getByLabel('admin.tokenFile').fill('reader-token-0123456');
    await page.getByRole('button', { name: 'Log in' }).click();
    await row(page).first().waitFor();
    assert.equal(await page.getByText('read only', { exact: true }).isVisible(), true);
    assert.equal(await page.getByRole('button', { name: /^(Cancel|Stop|Restart) / }).count(), 0);
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Strict']);
    const refused = await page.evaluate(async () => {
      const id = document.querySelector('#calls-table tr[data-id]').dataset.id;
      return (await fetch(`api/v1/calls/${id}/cancel`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })).status;
    });
    assert.equal(refused, 403);
    // Without its script the page has a form for that, for a role that only reads too.
    const plain = await (await page.request.get(`${root}/console`)).text();
    const form = /action="console\/logout"><input type="hidden" name="form" value="([^"]+)"/.exec(plain)?.[1];
    assert.ok(form, 'a token is in the form');
    const out = await page.request.post(`${root}/console/logout`, { form: { form }, headers: { origin: root }, maxRedirects: 0 });
    assert.equal(out.status(), 303);
    assert.equal((await page.request.get(`${root}/console`)).status(), 401);
    await page.goto(`${root}/console`);
    await page.getByLabel('admin.tokenFile').fill('reader-token-0123456');
    await page.getByRole('button', { name: 'Log in' }).click();
    await row(page).first().waitFor();
    writeFileSync(tokens, 'operate operator-token-0123\n');
    await page.goto(`${root}/console`);
    await page.getByRole('button', { name: 'Log in' }).waitFor();
  });

  test('lineward console: a link that is good once, the same page over the control socket, and nothing left', async (t) => {
    const socket = join(temporaryFolder(t), 'admin.sock');
    const { call } = await startGatewayFrom(t, { ops: { address: 'off' }, admin: { address: `unix:${socket}` }, mcpServers: { github: server(plainFixture()) } })
      .then((gateway) => ({ call: (args) => callTool(gateway.url, 'slow', args) }));
    const child = spawn(binary(), ['console', '--admin', `unix:${socket}`], { stdio: ['ignore', 'pipe', 'ignore'] });
    const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
    t.after(() => child.kill('SIGKILL'));
    const link = await new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
    const slow = call({ onCancel: 'error' });
    const { page, faults } = await openBrowser(t);
    await page.goto(link);
    await row(page).getByText('61/100').waitFor();
    await page.getByRole('button', { name: /^Cancel c/ }).click();
    assert.equal((await slow.answer).error.code, 499);
    assert.deepEqual(faults, []);
    const address = new URL(link);
    const again = await get(address.host, address.pathname, { headers: { host: address.host } });
    assert.equal(again.status, 403);
    const bare = await get(address.host, address.pathname.replace(/open.*/, 'api/v1/status'), { headers: { host: address.host } });
    assert.equal(bare.status, 403);
    const rebound = await get(address.host, address.pathname.replace(/open.*/, 'console'), { headers: { host: 'evil.example' } });
    assert.equal(rebound.status, 403);
    child.kill('SIGINT');
    assert.equal(await ended, 0);
  });

  // Some twenty times what is in sight, for a build with sanitizers; another one manages CONSOLE_CALLS=5000.
  const MANY = Number(process.env.CONSOLE_CALLS ?? 600);
  test(`${MANY} calls in flight scroll and update without a stutter, with the rows in sight alone`, { timeout: 180_000 }, async (t) => {
    const { root, call } = await running(t, {
      listen: { maxPrincipalPercent: 100 },
      servers: { many: server(plainFixture(), { limits: { maxInFlight: MANY }, timeouts: { request: '5m' } }) },
    });
    for (let i = 0; i < MANY; i++) call({ onCancel: 'error' }, 'slow', 'many');
    const { page } = await openBrowser(t);
    await page.goto(`${root}/console`);
    await page.waitForFunction((n) => Number(document.querySelector('#calls-table').getAttribute('aria-rowcount')) === n + 1, MANY);
    // The page's own time on its thread, without waits for the machine.
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const taken = async () => {
      const { metrics } = await session.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'TaskDuration').value * 1000;
    };
    const steps = [];
    let rows = 0;
    for (let i = 0, before = await taken(); i < 90; i++) {
      rows = Math.max(rows, await page.evaluate(async (step) => {
        const box = document.querySelector('#calls-scroll');
        box.scrollTop = (box.scrollHeight / 90) * step;
        const frame = () => new Promise((done) => requestAnimationFrame(done));
        await frame();
        await frame();
        return document.querySelectorAll('#calls-table tbody tr[data-id]').length;
      }, i));
      const after = await taken();
      steps.push(after - before);
      before = after;
    }
    const worst = Math.max(...steps);
    if (process.env.CONSOLE_CALLS) console.log(`the longest step took ${Math.round(worst)} ms, ${rows} rows`);
    assert.ok(rows < 80, `${rows} rows exist`);
    assert.ok(steps.some((one) => one > 0) && worst < 300, `a step of ${worst} ms`);
  });
});
