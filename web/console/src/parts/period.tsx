/** The period that figures are shown for. It is kept in the address, as filters are. */
import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import type { FilterState } from './filters.tsx';

/** In days. */
const PERIODS = [
  { value: '1', label: '24 hours' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
];
const DEFAULT_DAYS = '7';
const DAY_MS = 86_400_000;
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });
const HOUR = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });

/** How figures over time are asked for. */
export interface Period {
  /** Date and time in ISO 8601. */
  readonly from: string;
  readonly interval: 'hour' | 'day';
}

/** The chosen period up to the opening of the page: its address stays the same while it is read again. */
export function usePeriod({ filters }: FilterState<'days'>): Period {
  const [openedMs] = useState(() => Date.now());
  const days = filters.days || DEFAULT_DAYS;
  return {
    from: new Date(openedMs - Number(days) * DAY_MS).toISOString(),
    interval: days === '1' ? 'hour' : 'day',
  };
}

export function PeriodControl({ filters, set }: FilterState<'days'>) {
  return (
    <SegmentedControl
      data={PERIODS}
      value={filters.days || DEFAULT_DAYS}
      onChange={(value) => set('days', value)}
      aria-label="Range"
    />
  );
}

/** Names the beginning of an interval. */
export function labelOfInterval(start: string, interval: Period['interval']): string {
  return (interval === 'hour' ? HOUR : DAY).format(new Date(start));
}
