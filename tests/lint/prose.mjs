// prose.mjs [selftest | --totals | --show FILE… | --shrink | --begin | --commits RANGE]
//
// Counts, per file and kind of text, what makes sentences hard to read for a stranger:
//   people    the pronouns who, whoever, whose, whom, nobody, somebody, everybody, anybody
//   headless  sentences that begin with What, Who, Whoever, Whose, Where, Of, One, Those, Nothing, Nobody
//   long      sentences of more than 30 words
// prose.txt has a budget for each file that has any. A count above its budget fails, and so does one below it: `--shrink`
// writes the lower figure down, and never a higher one. `--begin` writes the budgets anew; it is for a new kind of text.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const table = join(here, 'prose.txt');
const MEASURES = ['people', 'headless', 'long'];
const MOST_WORDS = 30;
const PEOPLE = /\b(who|whoever|whomever|whose|whom|nobody|somebody|everybody|anybody)\b/gi;
const HEADLESS = /^(What|Who|Whoever|Whose|Where|Of|One|Those|Nothing|Nobody|Somebody|Everybody)\b/;
const QUESTION = /\?$/;

/** Paragraphs → sentences. Code, addresses and figures of speech in backticks count as one word. */
export function sentences(paragraph) {
  const plain = paragraph
    .replace(/``.*?``|`[^`]*`/g, 'CODE')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>\s][^>]*>/g, ' ')
    .replace(/\bhttps?:\/\/\S+/g, 'CODE')
    .replace(/\*\*|__/g, '')
    .replace(/\b(e\.g|i\.e|etc|vs|no)\./gi, '$1')
    .replace(/\s+/g, ' ')
    .trim();
  return plain ? plain.split(/(?<=[.!?:])["”)]?\s+(?=["“(]?[A-Z0-9])/).map((one) => one.trim()) : [];
}

/** Markdown → paragraphs: list items, cells of tables and headings are paragraphs of their own. */
export function markdown(text) {
  const paragraphs = [];
  let open = [];
  const close = () => {
    if (open.length) paragraphs.push(open.join(' '));
    open = [];
  };
  let fence = false;
  for (const line of text.replace(/<!--[\s\S]*?-->/g, '').split('\n')) {
    if (/^\s*(```|~~~)/.test(line)) {
      close();
      fence = !fence;
    } else if (fence) continue;
    else if (/^\s*$/.test(line) || /^( {4}|\t)\S/.test(line)) close();
    else if (/^\s*\|/.test(line)) {
      close();
      if (!/^[\s|:-]*$/.test(line)) for (const cell of line.split(/(?<!\\)\|/)) paragraphs.push(cell);
    } else if (/^\s*([-*+]|\d+\.)\s/.test(line)) {
      close();
      open.push(line.replace(/^\s*([-*+]|\d+\.)\s/, ''));
    } else if (/^#/.test(line)) {
      close();
      paragraphs.push(line.replace(/^#+\s*/, ''));
    } else open.push(line);
  }
  close();
  return paragraphs;
}

/** Comments of C++, JavaScript or a script → paragraphs: lines that follow one another belong together. */
export function comments(text, mark = '//') {
  const paragraphs = [];
  let open = [];
  const close = () => {
    if (open.length) paragraphs.push(open.join(' '));
    open = [];
  };
  const marks = mark === '//' ? /(?:^|[^:"'])(?:\/\/+|\/\*+|^\s*\*(?!\/))\s?(.*?)(?:\*\/)?$/ : /(?:^|\s)#(?!!)\s?(.*)$/;
  for (const line of text.split('\n')) {
    const found = marks.exec(line);
    const alone = found && (mark === '//' ? /^\s*(\/\/|\/?\*)/.test(line) : /^\s*#/.test(line));
    if (!found || (found[1].trim() === '' && alone)) close();
    else if (alone) open.push(found[1]);
    else {
      close();
      paragraphs.push(found[1]);
    }
  }
  close();
  return paragraphs.filter((one) => !/NOLINT|clang-format|prettier-ignore|prettier|^!|SPDX/.test(one));
}

/** Texts of the program: literals with three words or more; adjoining literals are one text. */
export function literals(text) {
  const code = text.replace(/^\s*#include.*$/gm, '').replace(/(^|[^:"'])\/\/.*$/gm, '$1');
  const joined = code.replace(/"\s*\n\s*"/g, '');
  return [...joined.matchAll(/"((?:[^"\\\n]|\\.)*)"/g)]
    .map(([, one]) => one.replace(/\\n/g, '\n').replace(/\\"/g, '"'))
    .flatMap((one) => one.split(/\n\n|\n(?= )/))
    .filter((one) => /[A-Za-z]+ [A-Za-z]+ [A-Za-z]+/.test(one));
}

const titles = (text) => [
  ...[...text.matchAll(/^wiretest "(.*)"$/gm)].map(([, one]) => one),
  ...[...text.matchAll(/\b(?:TEST_CASE|SCENARIO|SECTION)\(\s*"((?:[^"\\]|\\.)*)"/g)].map(([, one]) => one),
  ...[...text.matchAll(/\b(?:test|it|describe)\(\s*(['`"])((?:(?!\1)[^\\\n]|\\.)*)\1/g)].map(([, , one]) => one),
];

const KINDS = [
  { name: 'pages', of: /^(README|ARCHITECTURE|CONTRIBUTING|SECURITY|CHANGELOG)\.md$|^docs\/.*\.md$|README\.md$/, read: markdown },
  { name: 'comments', of: /^(gateway|plugins|tests|benchmarks)\/.*\.(cc|h|mjs|js)$/, read: (text) => comments(text) },
  { name: 'comments', of: /^(tests|conf)\/.*\.(sh|wire)$/, read: (text) => comments(text, '#') },
  { name: 'texts', of: /^(gateway|plugins)\/.*\.(cc|h)$/, read: literals },
  { name: 'titles', of: /^tests\/.*(\.wire|_test\.cc|\.test\.mjs)$/, read: titles },
];

export function count(paragraphs) {
  const found = { people: 0, headless: 0, long: 0, shown: [] };
  for (const sentence of paragraphs.flatMap(sentences)) {
    const people = sentence.match(PEOPLE)?.length ?? 0;
    const headless = HEADLESS.test(sentence) && !QUESTION.test(sentence);
    const long = sentence.split(' ').length > MOST_WORDS;
    found.people += people;
    found.headless += headless;
    found.long += long;
    if (people || headless || long) found.shown.push(sentence);
  }
  return found;
}

const files = () => execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);

function measure(paths) {
  const rows = new Map();
  for (const path of paths) {
    for (const { name, of, read } of KINDS) {
      if (!of.test(path) || path.startsWith('tests/lint/prose')) continue;
      rows.set(`${name} ${path}`, count(read(readFileSync(join(root, path), 'utf8'))));
    }
  }
  return rows;
}

function budgets() {
  const rows = new Map();
  for (const line of readFileSync(table, 'utf8').split('\n')) {
    const found = /^(\S+ \S+) (\d+) (\d+) (\d+)$/.exec(line);
    if (found) rows.set(found[1], { people: +found[2], headless: +found[3], long: +found[4] });
  }
  return rows;
}

function write(rows) {
  const lines = [...rows].filter(([, of]) => MEASURES.some((one) => of[one])).map(([row, of]) => `${row} ${MEASURES.map((one) => of[one]).join(' ')}`);
  writeFileSync(table, `# kind file people headless long: see prose.mjs\n${lines.sort().join('\n')}\n`);
}

const NONE = { people: 0, headless: 0, long: 0 };

function check() {
  const allowed = budgets();
  const found = measure(files());
  let wrong = 0;
  for (const [row, of] of found) {
    const budget = allowed.get(row) ?? NONE;
    for (const one of MEASURES) {
      if (of[one] === budget[one]) continue;
      ++wrong;
      const more = of[one] > budget[one];
      console.log(`${row}: ${of[one]} ${one}, budget ${budget[one]}${more ? '' : ': tests/lint/prose.mjs --shrink'}`);
      if (more) for (const sentence of of.shown) console.log(`    ${sentence}`);
    }
  }
  for (const row of allowed.keys()) {
    if (found.has(row)) continue;
    ++wrong;
    console.log(`${row}: has a budget and is not there: tests/lint/prose.mjs --shrink`);
  }
  return wrong;
}

function shrink() {
  const allowed = budgets();
  const rows = new Map();
  for (const [row, of] of measure(files())) {
    const budget = allowed.get(row) ?? NONE;
    rows.set(row, Object.fromEntries(MEASURES.map((one) => [one, Math.min(of[one], budget[one])])));
  }
  write(rows);
}

function totals() {
  const sums = new Map();
  for (const [row, of] of measure(files())) {
    const [kind, path] = row.split(' ');
    const key = kind === 'comments' && !/^(gateway|plugins)\//.test(path) ? 'comments of tests' : kind;
    const sum = sums.get(key) ?? { ...NONE };
    for (const one of MEASURES) sum[one] += of[one];
    sums.set(key, sum);
  }
  for (const [kind, of] of sums) console.log(`${kind}: ${MEASURES.map((one) => `${of[one]} ${one}`).join(', ')}`);
}

function commits(range) {
  const subjects = execFileSync('git', ['log', '--no-merges', '--format=%s', range], { cwd: root, encoding: 'utf8' });
  const wrong = subjects.split('\n').filter((one) => one && (one.length > 72 || !/^[\w ,./*-]+: [a-z]/.test(one)));
  for (const one of wrong) console.log(`${one.length} characters, or not "area: imperative …": ${one}`);
  return wrong.length;
}

function selftest() {
  const equal = (what, is, wanted) => {
    if (JSON.stringify(is) !== JSON.stringify(wanted)) throw new Error(`${what}: ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}`);
  };
  const counted = (paragraphs) => MEASURES.map((one) => count(paragraphs)[one]);
  equal('people', counted(['The caller, whose call it is, and nobody else.']), [2, 0, 0]);
  equal('headless', counted(['What is lost is lost. Of two. The rest stays. Where am I?']), [0, 2, 0]);
  equal('code is no word', counted(['`who` is a command.']), [0, 0, 0]);
  equal('long', counted([`${'word '.repeat(30)}end.`, `${'word '.repeat(29)}end.`]), [0, 0, 1]);
  equal('markdown', markdown('# A\n\none\ntwo\n\n- b\n- c\n\n| d | e |\n|---|---|\n```\nf\n```\n').map((one) => one.trim()).filter(Boolean), ['A', 'one two', 'b', 'c', 'd', 'e']);
  equal('comments', comments('// One.\n// Two.\nint a;  // b\n//\n/** c */\n'), ['One. Two.', 'b', 'c '].map((one, at) => (at === 2 ? 'c ' : one)));
  equal('script', comments('#!/bin/sh\n# a\necho # b\n', '#'), ['a', 'b']);
  equal('literals', literals('f("a b c"\n  " d"); g("x"); // "no no no"\n'), ['a b c d']);
  equal('titles', titles('wiretest "a b"\nTEST_CASE("c d", "[x]")\ntest(\'e f\', () => {'), ['a b', 'c d', 'e f']);
}

const [what, ...more] = process.argv.slice(2);
if (what === 'selftest') selftest();
else if (what === '--totals') totals();
else if (what === '--begin') write(measure(files()));
else if (what === '--shrink') shrink();
else if (what === '--commits') process.exitCode = commits(more[0]) ? 1 : 0;
else if (what === '--show') for (const [row, { shown }] of measure(more)) console.log(`${row}\n    ${shown.join('\n    ') || 'no sentence to change'}`);
else process.exitCode = check() ? 1 : 0;
