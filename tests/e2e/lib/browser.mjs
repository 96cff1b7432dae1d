// Debian's Chromium, driven by playwright-core, and axe on what it shows. Without a Chromium its tests are skipped.
import { AxeBuilder } from '@axe-core/playwright';
import { chromium } from 'playwright-core';
import { existsSync } from 'node:fs';
import { after } from 'node:test';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
export const noBrowser = existsSync(CHROMIUM) ? false : `there is no ${CHROMIUM}`;

const ARGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
];

// A browser for all tests of a file, started by the first that needs it: each has a context of its own in it, with
// its own cookies and storage.
let browser;
after(async () => (await browser)?.close());

/**
 * A fresh page, which ends with the test.
 *
 * @returns {{page, faults: string[], hosts: Set<string>}} the errors of the page, and the hosts that it
 * requested
 */
export async function openBrowser(t, { width = 1400, height = 900, ...more } = {}) {
  browser ??= chromium.launch({ executablePath: CHROMIUM, headless: true, args: ARGS });
  const context = await (await browser).newContext({ viewport: { width, height }, ...more });
  t.after(() => context.close());
  const page = await context.newPage();
  const faults = [];
  const hosts = new Set();
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  return { context, page, faults, hosts };
}

/** The findings of axe, in short; axe itself cannot run in a page that runs no script. */
export async function accessibilityFaults(page) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}
