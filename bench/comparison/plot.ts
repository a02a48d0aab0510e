/** Plot of every sample: one row per side, a dot per value, a line at the median. */
import { quantile } from '#caller/statistics.ts';
import { SIDE_COLOURS, svgOf, ticks, titleOf } from '../svg.ts';

const LEFT = 130;
const WIDTH = 620;
const TOP = 40;
const ROW = 46;

/** Returns the plot as SVG. */
export function plot(
  title: string,
  rows: readonly { readonly name: string; readonly values: readonly number[] }[],
): string {
  const most = Math.max(1_000, ...rows.flatMap(({ values }) => values));
  const step = most > 4_000 ? 1_000 : 250;
  const x = (ms: number) => LEFT + (Math.max(0, ms) / most) * WIDTH;
  const height = TOP + ROW * rows.length + 26;
  const shapes = [
    titleOf(title),
    ...ticks(most, step).map(
      (ms) =>
        `<path d="M${x(ms).toFixed(1)} ${TOP}V${height - 22}" stroke="#ddd"/><text ` +
        `x="${x(ms).toFixed(1)}" y="${height - 8}" text-anchor="middle" fill="#666">${ms}</text>`,
    ),
    ...rows.flatMap(({ name, values }, row) => {
      const middle = TOP + ROW * row + ROW / 2;
      const colour = SIDE_COLOURS[row % SIDE_COLOURS.length];
      const median = x(quantile(values, 0.5)).toFixed(1);
      return [
        `<text x="${LEFT - 10}" y="${middle + 4}" text-anchor="end">${name}</text>`,
        ...values.map(
          (ms, index) =>
            `<circle cx="${x(ms).toFixed(1)}" cy="${middle + 5 * ((index % 5) - 2)}" r="3.5" ` +
            `fill="${colour}" fill-opacity="0.6"/>`,
        ),
        ...(values.length > 0
          ? [`<path d="M${median} ${middle - 17}v34" stroke="${colour}" stroke-width="2"/>`]
          : []),
      ];
    }),
  ];
  return svgOf({ width: LEFT + WIDTH + 30, height }, shapes);
}
