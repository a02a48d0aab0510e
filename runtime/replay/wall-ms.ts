/** Times of a flight log on the clock that recording and session use. */
import type { ReadFlightLog } from '../turn/loop/flight-log.ts';

/** Unix ms of a time of a part: the log has its worker's monotonic clock, and each worker one of its own. */
export function wallMs({ header }: Pick<ReadFlightLog, 'header'>, atMs: number): number {
  return Date.parse(header.wall_time) + atMs - header.started_at_ms;
}
