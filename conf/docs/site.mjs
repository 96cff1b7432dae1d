// site.mjs OUT: docs/*.md, README.md and what they link to, as pages that need no server and load nothing from elsewhere.
// A link that leads nowhere, within a page too, ends it with an error.
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import MarkdownIt from 'markdown-it';
import { brokenLinks, pagesOf, slugger } from './links.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const out = process.argv[2] ?? join(root, 'build/site');

// What a reader meets in this order, as names below docs/, or of a page above it; those that are not there (yet) are left out, and a
// page that stands nowhere here comes under "Reference".
const ORDER = {
  '': 'README',
  Begin: 'start concepts clients recipes doctor',
  'Run it': 'systemd containers kubernetes replicas workers performance releases',
  Operate: 'console runbook metrics telemetry reload audit growth',
  Secure: 'SECURITY auth credentials isolation rate-limits',
  'Coming from': 'migration',
  Reference: 'cli errors limits headers behaviour CHANGELOG',
  Develop: 'ARCHITECTURE CONTRIBUTING',
};
const CONTENTS = Object.fromEntries(
  Object.entries(ORDER).map(([group, names]) => [group, names.split(' ').map((name) => `${/^[A-Z]/.test(name) ? '' : 'docs/'}${name}.md`)]),
);

const pages = pagesOf(root);
const faults = brokenLinks(root, pages);
if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}

const placed = new Set(Object.values(CONTENTS).flat());
const groups = Object.fromEntries(Object.entries(CONTENTS).map(([name, list]) => [name, list.filter((page) => pages.includes(page))]));
groups.Reference.push(...pages.filter((page) => !placed.has(page) && !/^docs\/(dev|reasons|decisions)\//.test(page)).sort());
groups.Develop.push(...pages.filter((page) => page.startsWith('docs/dev/') || page === 'docs/decisions/README.md').sort());

const target = (page) => (page === 'README.md' ? 'index.html' : page.replace(/\.md$/, '.html'));
const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
const titleOf = (text, page) => /^# (.+)$/m.exec(text)?.[1].replaceAll('`', '') ?? page;
const texts = new Map(pages.map((page) => [page, readFileSync(join(root, page), 'utf8')]));

function render(page) {
  const markdown = new MarkdownIt({ html: false, linkify: false });
  const slug = slugger();
  markdown.core.ruler.push('anchors', (state) => {
    state.tokens.forEach((token, at) => {
      if (token.type === 'heading_open') token.attrSet('id', slug(state.tokens[at + 1].content));
    });
  });
  const rewrite = (token, name) => {
    const to = token.attrGet(name);
    if (!to || /^[a-z]+:|^#/.test(to)) return;
    const [path, anchor] = to.split('#');
    const absolute = join(dirname(page), decodeURI(path));
    // Pages and pictures are here; what else there is stands in the sources.
    if (texts.has(absolute)) token.attrSet(name, relative(dirname(target(page)), target(absolute)) + (anchor ? `#${anchor}` : ''));
    else if (statSync(join(root, absolute)).isDirectory()) return 'plain';
    else copied(absolute);
  };
  const walk = (tokens) => {
    let plain = false;
    for (const token of tokens) {
      if (token.type === 'link_open') plain = rewrite(token, 'href') === 'plain';
      if (token.type === 'image') rewrite(token, 'src');
      // A folder of the sources has no page.
      if (plain && /^link_/.test(token.type)) Object.assign(token, { type: 'html_inline', content: '' });
      if (token.children) walk(token.children);
    }
  };
  markdown.core.ruler.push('links', (state) => walk(state.tokens));
  return markdown.render(texts.get(page));
}

function copied(path) {
  mkdirSync(dirname(join(out, path)), { recursive: true });
  copyFileSync(join(root, path), join(out, path));
}

function navigation(current) {
  const link = (page) =>
    `<li><a${page === current ? ' aria-current="page"' : ''} href="${relative(dirname(target(current)), target(page))}">${escape(titleOf(texts.get(page), page))}</a></li>`;
  return Object.entries(groups)
    .filter(([, list]) => list.length > 0)
    .map(([name, list]) => `${name ? `<h2>${escape(name)}</h2>` : ''}<ul>${list.map(link).join('')}</ul>`)
    .join('\n');
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
copyFileSync(join(root, 'conf/docs/style.css'), join(out, 'style.css'));
for (const page of pages) {
  const file = join(out, target(page));
  mkdirSync(dirname(file), { recursive: true });
  const style = relative(dirname(target(page)), 'style.css');
  writeFileSync(
    file,
    `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(titleOf(texts.get(page), page))} - Lineward</title><link rel="stylesheet" href="${style}"></head>
<body><a class="skip" href="#page">To the page</a><nav aria-label="All pages">${navigation(page)}</nav>
<main id="page">${render(page)}</main></body></html>
`,
  );
}
console.log(`${pages.length} pages in ${relative(process.cwd(), out) || out}; all links lead somewhere`);
