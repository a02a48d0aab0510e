/** The plots of the comparison: every sample of a figure by side, and cut-offs against waits. */
import { quantile } from '#caller/statistics.ts';
import { axesOf, svgOf, ticks, titleOf } from '../svg.ts';

const LEFT = 290;
const WIDTH = 560;
const TOP = 40;
const ROW = 40;
const CUT_OFFS = { left: 60, top: TOP, width: 560, height: 300 };
/** One colour for each program, dark and light: as documented, and by speech alone. */
const COLOURS: Readonly<Record<string, string>> = {
  parley: '#2f5bb7',
  'livekit-js': '#c2571a',
  'livekit-js-speech': '#e5a77f',
  'livekit-python': '#2a8a57',
  'livekit-python-speech': '#8fc9a9',
  pipecat: '#7a3e9d',
  'pipecat-speech': '#bf9ad4',
};
const OTHER_COLOUR = '#555';

/** A side in a plot. */
interface PlottedSide {
  readonly id: string;
  readonly name: string;
}

/** Returns the plot of all samples as SVG: one row per side, a dot per value, a line at the median. */
export function plot(
  title: string,
  rows: readonly (PlottedSide & { readonly values: readonly number[] })[],
): string {
  const most = Math.max(1_000, ...rows.flatMap(({ values }) => values));
  const x = (ms: number) => LEFT + (Math.max(0, ms) / most) * WIDTH;
  const height = TOP + ROW * rows.length + 26;
  return svgOf({ width: LEFT + WIDTH + 30, height }, [
    titleOf(title),
    ...ticks(most, most > 10_000 ? 2_500 : most > 3_000 ? 1_000 : 250).map(
      (ms) =>
        `<path d="M${x(ms).toFixed(1)} ${TOP}V${height - 22}" stroke="#ddd"/><text ` +
        `x="${x(ms).toFixed(1)}" y="${height - 8}" text-anchor="middle" fill="#666">${ms}</text>`,
    ),
    ...rows.flatMap(({ id, name, values }, row) => {
      const middle = TOP + ROW * row + ROW / 2;
      const median = x(quantile(values, 0.5)).toFixed(1);
      return [
        `<text x="${LEFT - 10}" y="${middle + 4}" text-anchor="end">${name}</text>`,
        ...values.map(
          (ms, index) =>
            `<circle cx="${x(ms).toFixed(1)}" cy="${middle + 4 * ((index % 5) - 2)}" r="3" ` +
            `fill="${colourOf(id)}" fill-opacity="0.6"/>`,
        ),
        ...(values.length > 0
          ? [`<path d="M${median} ${middle - 15}v30" stroke="${colourOf(id)}" stroke-width="2"/>`]
          : []),
      ];
    }),
  ]);
}

/**
 * Returns the plot of one point per side as SVG: the share of pauses cut off, in %, against the median wait.
 */
export function plotCutOffs(
  title: string,
  points: readonly (PlottedSide & { readonly waitMs: number; readonly cutOff: number })[],
): string {
  const mostX = Math.max(1_000, ...points.map(({ waitMs }) => waitMs)) * 1.05;
  const mostY = Math.max(10, ...points.map(({ cutOff }) => cutOff)) * 1.05;
  const { grid, x, y } = axesOf(
    CUT_OFFS,
    { most: mostX, step: mostX > 2_000 ? 500 : 250 },
    { most: mostY, step: mostY > 40 ? 20 : 5 },
  );
  const legendX = CUT_OFFS.left + CUT_OFFS.width + 20;
  return svgOf({ width: legendX + 290, height: TOP + CUT_OFFS.height + 28 }, [
    titleOf(title),
    ...grid,
    ...points.flatMap(({ id, name, waitMs, cutOff }, index) => {
      const legendY = TOP + 14 + 20 * index;
      return [
        `<circle cx="${x(waitMs)}" cy="${y(cutOff)}" r="6" fill="${colourOf(id)}"/>`,
        `<circle cx="${legendX}" cy="${legendY - 4}" r="5" fill="${colourOf(id)}"/>`,
        `<text x="${legendX + 12}" y="${legendY}">${name}</text>`,
      ];
    }),
  ]);
}

function colourOf(id: string): string {
  return COLOURS[id] ?? OTHER_COLOUR;
}
