// Whether what was measured at n, 2n, 4n and 8n grows no faster than it may.
//
// A fixed part is in every figure, so the additions of the doublings are compared. With a linear cost the last one adds twice as
// much as the one before it, with a quadratic one four times. The difference between repeats of one measurement, and a
// part of the figure itself, is allowed on top: so small a difference has no meaning.
const TOLERANCE = {
  instructions: { step: 2.6, part: 0.03, flat: 1.5 },
  nanoseconds: { step: 3.0, part: 0.12, flat: 1.7 }, // neighbours on the processor, caches
};

/** `runs`: for each size all figures measured. The least of them is what the work costs; the rest is what came between. */
export function judge(kind, runs, unit) {
  const may = TOLERANCE[unit];
  const costs = runs.map((figures) => Math.min(...figures));
  if (!costs.every((cost) => cost > 0)) throw new Error(`nothing was measured: ${costs.join(' ')}`);
  const spread = Math.max(...runs.map((figures) => second(figures) - Math.min(...figures)));
  const ratio = costs[3] / costs[0];
  if (kind === 'flat') {
    return { costs, ratio, bar: `≤ ${may.flat}`, holds: costs[3] <= may.flat * costs[0] + spread };
  }
  const last = costs[3] - costs[2];
  const before = Math.max(costs[2] - costs[1], 2 * Math.max(costs[1] - costs[0], 0));
  const step = before > 0 ? last / before : 0;
  const holds = last <= may.step * Math.max(before, 0) + may.part * costs[2] + spread;
  return { costs, ratio, step, bar: `≤ ${may.step}`, holds };
}

const second = (figures) => (figures.length > 1 ? figures.toSorted((a, b) => a - b)[1] : figures[0]);
