import type { Chart } from './report.ts';
import { amount } from './report.ts';

/** Small bar charts as SVG, readable on light and dark backgrounds. */

const WIDTH = 720;
/** The average width of a letter at this size: the columns of labels and values are as wide as their longest ones. */
const LETTER_WIDTH = 7.7;
const BAR_HEIGHT = 22;
const ROW_HEIGHT = 34;
const TOP = 52;

const STYLE = `
    text { font: 13px system-ui, sans-serif; fill: #24292f; }
    .title { font-size: 15px; font-weight: 600; }
    .note { fill: #656d76; }
    .bar { fill: #0969da; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .note { fill: #9198a1; }
      .bar { fill: #4493f8; }
    }`;

export function drawChart({ title, unit, bars }: Chart): string {
  const most = Math.max(...bars.map(({ value }) => value));
  const labelWidth = widthOf(bars.map(({ label }) => label));
  const room = WIDTH - labelWidth - widthOf(bars.map(({ value, note = '' }) => `${amount(value)} ${note}`));
  const rows = bars.map(({ label, value, note }, index) => {
    const y = TOP + index * ROW_HEIGHT;
    const width = Math.max(1, (value / most) * room);
    const middle = y + BAR_HEIGHT / 2 + 4.5;
    const shown = `${amount(value)}${note === undefined ? '' : ` <tspan class="note">${escaped(note)}</tspan>`}`;
    return [
      `  <text x="${labelWidth - 10}" y="${middle}" text-anchor="end">${escaped(label)}</text>`,
      `  <rect class="bar" x="${labelWidth}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}" rx="3"/>`,
      `  <text x="${(labelWidth + width + 8).toFixed(1)}" y="${middle}">${shown}</text>`,
    ].join('\n');
  });
  const height = TOP + bars.length * ROW_HEIGHT + 6;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}">
  <style>${STYLE}
  </style>
  <text class="title" x="0" y="18">${escaped(title)}</text>
  <text class="note" x="0" y="38">${escaped(unit)}</text>
${rows.join('\n')}
</svg>
`;
}

function widthOf(texts: readonly string[]): number {
  return Math.ceil(Math.max(...texts.map(({ length }) => length)) * LETTER_WIDTH) + 12;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
