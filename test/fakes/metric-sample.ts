/** Reads single values from the text of a scrape. */
import type { Meters } from '#base/meters.ts';

/** The value of a series, such as `parley_dials_total{status="busy"}`; null if the text has none. */
export function sampleIn(text: string, series: string): number | null {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1).split(' ')[0]);
}

/** The value of a series now. */
export async function sampleOf(meters: Meters, series: string): Promise<number | null> {
  return sampleIn((await meters.scrape()).body, series);
}
