/** The range of time that statistics are asked for, and its steps by the hour or by the day (UTC). */
import { z } from 'zod';
import { fault } from '#config/errors.ts';

const HOUR_MS = 3_600_000;
/** Lengths of the steps, ms. */
export const STEP_MS = { hour: HOUR_MS, day: 24 * HOUR_MS } as const;
const DEFAULT_RANGE_MS = 7 * STEP_MS.day;
/** Maximum ranges: two weeks by the hour, three months by the day. */
const MAX_STEPS = { hour: 14 * 24, day: 93 } as const;

/** Query fields of a range. */
export const rangeQuery = {
  /** Default: a week before `to`. */
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
  interval: z.enum(['hour', 'day']).default('day'),
};

/** A range; times are ms since 1970, `toMs` is exclusive. */
export interface Range {
  readonly fromMs: number;
  readonly toMs: number;
  readonly interval: 'hour' | 'day';
}

interface RangeQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly interval: 'hour' | 'day';
}

/** The range that is asked for at this time. Throws `bad_request` if it is empty or too long. */
export function rangeOf(query: RangeQuery, at: Date): Range {
  const { interval } = query;
  const toMs = query.to === undefined ? at.getTime() : Date.parse(query.to);
  const fromMs = query.from === undefined ? toMs - DEFAULT_RANGE_MS : Date.parse(query.from);
  if (fromMs >= toMs) throw fault('bad_request', { detail: 'from must be before to' });
  const steps = (toMs - fromMs) / STEP_MS[interval];
  if (steps > MAX_STEPS[interval])
    throw fault('bad_request', {
      detail: `The range is too long: at most ${MAX_STEPS[interval]} ${interval}s, or ask by the day`,
    });
  return { fromMs, toMs, interval };
}

/** The numbers of the steps since 1970 that are in the range, or begin or end in it. */
export function stepsOf({ fromMs, toMs, interval }: Range): number[] {
  const first = Math.floor(fromMs / STEP_MS[interval]);
  const end = Math.ceil(toMs / STEP_MS[interval]);
  return Array.from({ length: end - first }, (_, index) => first + index);
}
