// Reads the Prometheus text format and refuses what it does not allow (docs: exposition formats 0.0.4).
import assert from 'node:assert/strict';

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;

function labelsOf(text) {
  const labels = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const at = LABEL.lastIndex;
    const found = LABEL.exec(text);
    assert.ok(found, `labels: ${text.slice(at)}`);
    assert.ok(!(found[1] in labels), `label twice: ${text}`);
    labels[found[1]] = found[2];
  }
  return labels;
}

/** Families by name: {help, type, samples: [{name, labels, value}]}; throws where the text is wrong. */
export function parse(text) {
  assert.ok(text.endsWith('\n'));
  const families = new Map();
  const seen = new Set();
  let family;
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (comment) {
      const [, what, name, rest] = comment;
      assert.match(name, NAME);
      if (family?.name !== name) {
        assert.ok(!families.has(name), `${name} stands in two places`);
        family = { name, samples: [] };
        families.set(name, family);
      }
      assert.equal(family.samples.length, 0, `${line} behind samples`);
      family[what.toLowerCase()] = rest;
      continue;
    }
    const found = LINE.exec(line);
    assert.ok(found, `no sample: ${line}`);
    const [, name, labels = '', value] = found;
    const suffixes = family.type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    assert.ok(suffixes.some((suffix) => name === family.name + suffix), `${name} in ${family.name}`);
    assert.ok(!seen.has(line.slice(0, line.lastIndexOf(' '))), `twice: ${line}`);
    seen.add(line.slice(0, line.lastIndexOf(' ')));
    const number = value === '+Inf' ? Infinity : Number(value);
    assert.ok(!Number.isNaN(number), line);
    family.samples.push({ name, labels: labelsOf(labels), value: number });
  }
  for (const one of families.values()) check(one);
  return families;
}

function check({ name, type, help, samples }) {
  assert.ok(help && ['counter', 'gauge', 'histogram'].includes(type), `${name}: HELP and TYPE`);
  if (type === 'counter') assert.match(name, /_total$/);
  if (type !== 'histogram') return;
  const series = new Map();
  for (const { name: sample, labels, value } of samples) {
    const { le, ...rest } = labels;
    const key = JSON.stringify(rest);
    if (!series.has(key)) series.set(key, { buckets: [] });
    const one = series.get(key);
    if (sample.endsWith('_bucket')) one.buckets.push([le === '+Inf' ? Infinity : Number(le), value]);
    else one[sample.slice(name.length + 1)] = value;
  }
  for (const { buckets, count, sum } of series.values()) {
    assert.ok(count !== undefined && sum !== undefined, `${name}: sum and count`);
    assert.equal(buckets.at(-1)[0], Infinity);
    assert.equal(buckets.at(-1)[1], count);
    for (let i = 1; i < buckets.length; ++i) {
      assert.ok(buckets[i][0] > buckets[i - 1][0], `${name}: bounds ascend`);
      assert.ok(buckets[i][1] >= buckets[i - 1][1], `${name}: buckets are cumulative`);
    }
  }
}

/** The value of the one sample with these labels (others do not matter); undefined when there is none. */
export function value(families, name, labels = {}) {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''));
  return family?.samples.find(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, wanted]) => (sample.labels[key] ?? '') === wanted),
  )?.value;
}
