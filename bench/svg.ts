/** The frame and the axes of a plot as SVG, for pages with a light or a dark background. */

const FONT = 'font-family="system-ui, sans-serif" font-size="12"';

/** Colours of two sides that are compared. */
export const SIDE_COLOURS = ['#2f5bb7', '#c2571a'] as const;

/** Returns the picture of these shapes. */
export function svgOf(
  { width, height }: { width: number; height: number },
  shapes: readonly string[],
): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ${FONT}><rect width="100%" ` +
    `height="100%" fill="#fff"/>\n${shapes.join('\n')}\n</svg>\n`
  );
}

/** The title in the upper left corner. */
export function titleOf(title: string): string {
  return `<text x="8" y="20" font-weight="600">${title}</text>`;
}

/** An axis from 0: its greatest value, and how far its marks are apart. */
export interface Axis {
  readonly most: number;
  readonly step: number;
}

/** Two axes. */
export interface Axes {
  x(value: number): string;
  y(value: number): string;
  /** Lines at the marks, with their values. */
  readonly grid: readonly string[];
  /** The line through these points, as the `d` of a path. */
  path(points: readonly { readonly x: number; readonly y: number }[]): string;
}

/** Lays two axes over a rectangle of the picture; the values of `y` go up. */
export function axesOf(
  area: { readonly left: number; readonly top: number; readonly width: number; readonly height: number },
  horizontal: Axis,
  vertical: Axis,
): Axes {
  const { left, top, width, height } = area;
  const x = (value: number) => (left + (value / horizontal.most) * width).toFixed(1);
  const y = (value: number) => (top + height - (value / vertical.most) * height).toFixed(1);
  return {
    x,
    y,
    grid: [
      ...ticks(horizontal.most, horizontal.step).map(
        (value) =>
          `<path d="M${x(value)} ${top}V${top + height}" stroke="#ddd"/><text x="${x(value)}" ` +
          `y="${top + height + 16}" text-anchor="middle" fill="#666">${value}</text>`,
      ),
      ...ticks(vertical.most, vertical.step).map(
        (value) =>
          `<path d="M${left} ${y(value)}H${left + width}" stroke="#ddd"/><text x="${left - 6}" ` +
          `y="${Number(y(value)) + 4}" text-anchor="end" fill="#666">${value}</text>`,
      ),
    ],
    path: (points) =>
      points.map((point, at) => `${at === 0 ? 'M' : 'L'}${x(point.x)} ${y(point.y)}`).join(''),
  };
}

/** Values of the marks of an axis from 0. */
export function ticks(most: number, step: number): number[] {
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
}

/** The text, as it stands between tags. */
export function escapeXml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
}
