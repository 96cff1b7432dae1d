// Links between pages of Markdown: which there are, and which lead nowhere. Needs nothing but Node.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The pages of the documentation, by their paths in the sources. */
export function pagesOf(root) {
  const out = ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md'];
  const walk = (folder) => {
    for (const one of readdirSync(join(root, folder), { withFileTypes: true })) {
      if (one.isDirectory()) walk(`${folder}/${one.name}`);
      else if (one.name.endsWith('.md')) out.push(`${folder}/${one.name}`);
    }
  };
  walk('docs');
  return out;
}

/** Makes the anchors of one page, as GitHub does: a second heading of the same words gets -1. */
export function slugger() {
  const seen = new Map();
  return (heading) => {
    const base = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-');
    const count = seen.get(base) ?? 0;
    seen.set(base, count + 1);
    return count === 0 ? base : `${base}-${count}`;
  };
}

/** Blocks of code with the words behind their fence, and the text without them. */
export function split(text) {
  const blocks = [];
  const rest = [];
  let open = null;
  text.split('\n').forEach((line, at) => {
    const fence = /^\s*(`{3,}|~{3,})(.*)$/.exec(line);
    if (open && fence && fence[1].startsWith(open.fence) && fence[2].trim() === '') {
      blocks.push(open);
      open = null;
    } else if (open) {
      open.lines.push(line);
    } else if (fence) {
      open = { fence: fence[1], info: fence[2].trim(), line: at + 1, lines: [] };
    } else {
      rest.push(line);
      return;
    }
    rest.push('');
  });
  return { blocks, rest: rest.join('\n') };
}

export function anchorsOf(text) {
  const slug = slugger();
  return new Set(
    split(text)
      .rest.split('\n')
      .flatMap((line) => /^#{1,6} +(.+?)\s*#*$/.exec(line)?.[1] ?? [])
      .map(slug),
  );
}

/** "PAGE: there is no …" for each link that leads nowhere. Other sites are not asked. */
export function brokenLinks(root, pages = pagesOf(root)) {
  const anchors = new Map();
  const anchorsAt = (page) => {
    if (!anchors.has(page)) anchors.set(page, anchorsOf(readFileSync(join(root, page), 'utf8')));
    return anchors.get(page);
  };
  const faults = [];
  for (const page of pages) {
    const text = split(readFileSync(join(root, page), 'utf8')).rest.replace(/`[^`\n]*`/g, '');
    for (const [, to] of text.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g)) {
      if (/^[a-z][a-z0-9+.-]*:/i.test(to)) continue;
      const [path, anchor] = to.split('#');
      const at = path ? join(dirname(page), decodeURI(path)) : page;
      if (!existsSync(join(root, at))) faults.push(`${page}: there is no ${at}`);
      else if (anchor && at.endsWith('.md') && !anchorsAt(at).has(decodeURIComponent(anchor))) faults.push(`${page}: ${at} has no #${anchor}`);
    }
  }
  return faults;
}
