// Sums over a Prometheus text, for figures only (tests/e2e/lib/prometheus.mjs is the strict reader).

export function parseMetrics(text) {
  const samples = [];
  for (const line of text.split('\n')) {
    const found = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (found) samples.push({ name: found[1], labels: found[2] ?? '', value: Number(found[3]) });
  }
  return {
    /** The sum of the series with all of these in their labels, e.g. sum('x_total', 'reason="ok"'). */
    sum: (name, ...labels) =>
      samples
        .filter((one) => one.name === name && labels.every((label) => one.labels.includes(label)))
        .reduce((total, { value }) => total + value, 0),
    has: (name) => samples.some((one) => one.name === name),
  };
}
