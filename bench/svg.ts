/** The frame of a plot as SVG, for pages with a light or a dark background. */

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

/** Values of the marks of an axis from 0. */
export function ticks(most: number, step: number): number[] {
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
}
