// Rows as lines of text.
const UNITS = { instructions: 'k', nanoseconds: 'µs' };
const WIDTHS = { name: 70, n: 14, cost: 10, ratio: 6, step: 6 };

export const shown = (cost) => {
  const value = cost / 1000;
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
};
export const unitOf = (unit) => UNITS[unit];
export const stepOf = ({ kind, ratio, step }) => (kind === 'flat' ? `${ratio.toFixed(2)}` : `${step.toFixed(2)}`);

export const heading = () =>
  `${'what grows'.padEnd(WIDTHS.name)} ${'n'.padStart(WIDTHS.n)} ${['n', '2n', '4n', '8n'].map((text) => `at ${text}`.padStart(WIDTHS.cost)).join('')} ${'8n/n'.padStart(WIDTHS.ratio)} ${'step'.padStart(WIDTHS.step)}  verdict`;

export function line({ name, unit, n, kind, costs, ratio, step, holds, why, state, bar, seconds }) {
  const head = `${name.padEnd(WIDTHS.name)} ${`${n} ${unit ?? ''}`.trim().padStart(WIDTHS.n)} `;
  if (!costs) return `${head} ${state}: ${why}`;
  const figures = costs.map((cost) => shown(cost).padStart(WIDTHS.cost)).join('');
  const second = kind === 'flat' ? '' : (step ?? 0).toFixed(2);
  return `${head}${figures} ${ratio.toFixed(2).padStart(WIDTHS.ratio)} ${second.padStart(WIDTHS.step)}  ${state === 'pass' ? 'ok' : state} (${kind}, ${bar}) ${seconds > 2 ? `${seconds.toFixed(1)} s` : ''}`;
}
