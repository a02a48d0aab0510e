/** Plot of lines through points, as SVG. */
import { axesOf, SIDE_COLOURS, svgOf, titleOf } from '../svg.ts';

const AREA = { left: 50, top: 40, width: 640, height: 300 };
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
  const axes = axesOf(AREA, { most: mostX, step: X_STEP }, { most: mostY, step: yStep });
  const shapes = [
    titleOf(title),
    ...axes.grid,
    ...lines.flatMap(({ isAfter, isDashed, name, points: of }, index) => {
      const colour = isAfter ? AFTER : BEFORE;
      const dashes = isDashed ? ' stroke-dasharray="5 4"' : '';
      const [legendX, legendY] = [AREA.left + AREA.width - 150, AREA.top + 14 + 18 * index];
      return [
        `<path d="${axes.path(of)}" fill="none" stroke="${colour}" stroke-width="2"${dashes}/>`,
        ...of.map(({ x, y }) => `<circle cx="${axes.x(x)}" cy="${axes.y(y)}" r="3.5" fill="${colour}"/>`),
        `<path d="M${legendX} ${legendY - 4}h26" stroke="${colour}" stroke-width="2"${dashes}/>`,
        `<text x="${legendX + 32}" y="${legendY}">${name}</text>`,
      ];
    }),
  ];
  return svgOf({ width: AREA.left + AREA.width + 20, height: AREA.top + AREA.height + 28 }, shapes);
}
