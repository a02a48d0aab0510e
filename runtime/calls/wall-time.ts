/** Wall times in reports, ISO 8601. */
import type { Clock } from '#base/clock.ts';

/** The wall time of an event of a leg. */
export function wallTimeOf({ atMs }: { readonly atMs: number }, clock: Clock): string {
  return new Date(clock.wallTime() - (clock.now() - atMs)).toISOString();
}

/** The wall time now. */
export function isoNow(clock: Clock): string {
  return new Date(clock.wallTime()).toISOString();
}
