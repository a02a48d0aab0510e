/** Plot of lines through points, as SVG. */
import { SIDE_COLOURS, svgOf, ticks, titleOf } from '../svg.ts';

const [LEFT, TOP, WIDTH, HEIGHT] = [50, 40, 640, 300];
const [AFTER, BEFORE] = SIDE_COLOURS;
const X_STEP = 250;

/** One line of the plot. */
export interface PlotLine {
  readonly name: string;
  readonly isAfter: boolean;
  readonly isDashed: boolean;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

/** Returns the plot; the axes begin at 0. */
export function plotOf(title: string, lines: readonly PlotLine[]): string {
  const points = lines.flatMap((line) => line.points);
  const mostX = Math.max(1_000, ...points.map(({ x }) => x));
  const mostY = Math.max(1, ...points.map(({ y }) => y));
  const yStep = mostY > 20 ? 10 : mostY > 8 ? 5 : 1;
  const x = (value: number) => (LEFT + (value / mostX) * WIDTH).toFixed(1);
  const y = (value: number) => (TOP + HEIGHT - (value / mostY) * HEIGHT).toFixed(1);
  const shapes = [
    titleOf(title),
    ...ticks(mostX, X_STEP).map(
      (value) =>
        `<path d="M${x(value)} ${TOP}V${TOP + HEIGHT}" stroke="#ddd"/><text x="${x(value)}" ` +
        `y="${TOP + HEIGHT + 16}" text-anchor="middle" fill="#666">${value}</text>`,
    ),
    ...ticks(mostY, yStep).map(
      (value) =>
        `<path d="M${LEFT} ${y(value)}H${LEFT + WIDTH}" stroke="#ddd"/><text x="${LEFT - 6}" ` +
        `y="${Number(y(value)) + 4}" text-anchor="end" fill="#666">${value}</text>`,
    ),
    ...lines.flatMap(({ isAfter, isDashed, name, points: of }, index) => {
      const colour = isAfter ? AFTER : BEFORE;
      const dashes = isDashed ? ' stroke-dasharray="5 4"' : '';
      const path = of.map((point, at) => `${at === 0 ? 'M' : 'L'}${x(point.x)} ${y(point.y)}`).join('');
      const legendY = TOP + 14 + 18 * index;
      return [
        `<path d="${path}" fill="none" stroke="${colour}" stroke-width="2"${dashes}/>`,
        ...of.map((point) => `<circle cx="${x(point.x)}" cy="${y(point.y)}" r="3.5" fill="${colour}"/>`),
        `<path d="M${LEFT + WIDTH - 150} ${legendY - 4}h26" stroke="${colour}" stroke-width="2"${dashes}/>`,
        `<text x="${LEFT + WIDTH - 118}" y="${legendY}">${name}</text>`,
      ];
    }),
  ];
  return svgOf({ width: LEFT + WIDTH + 20, height: TOP + HEIGHT + 28 }, shapes);
}
