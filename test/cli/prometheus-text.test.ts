import { expect, it } from 'vitest';
import { countedSince, quantile, readSamples } from '#cli/prometheus-text.ts';
import { createMetrics } from '#control-plane/platform/metrics.ts';

it('reads a scrape: labels with escaped characters, infinite bounds, and no comments', () => {
  const text = [
    '# HELP parley_x {le="1"} 5',
    'parley_x 2.5e3',
    String.raw`parley_x_bucket{le="+Inf",of="a \"b\", c=\"d\\\n"} 3 1700000000000`,
    'parley_x_bucket{le="+Inf"}',
    'parley_y +Inf',
  ].join('\n');
  expect(readSamples(text)).toEqual([
    { name: 'parley_x', labels: {}, value: 2_500 },
    { name: 'parley_x_bucket', labels: { le: '+Inf', of: 'a "b", c="d\\\n' }, value: 3 },
    { name: 'parley_y', labels: {}, value: Number.POSITIVE_INFINITY },
  ]);
});

it('reads every line of the product’s own metrics', async () => {
  const { body } = await createMetrics().meters.scrape();
  const lines = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(lines.length).toBeGreaterThan(100);
  expect(readSamples(body)).toHaveLength(lines.length);
});

it('what was counted since an earlier scrape is the difference of counters, or all after a new start', () => {
  const scrape = (failed: number, done: number, now: number) =>
    readSamples(`a_total{of="failed"} ${failed}\na_total{of="done"} ${done}\na_now ${now}`);
  const counted = (later: ReturnType<typeof scrape>) =>
    countedSince(scrape(5, 7, 3), later).map(({ value }) => value);
  expect(counted(scrape(6, 17, 2))).toEqual([1, 10, 2]);
  expect(counted(scrape(1, 9, 2))).toEqual([1, 2, 2]);
  expect(countedSince([], scrape(4, 0, 0)).map(({ value }) => value)).toEqual([4, 0, 0]);
});

it('a quantile is interpolated in its bucket, and is the last finite bound above it', () => {
  const buckets = new Map([
    [1, 2],
    [2, 6],
    [4, 9],
    [Number.POSITIVE_INFINITY, 10],
  ]);
  expect([0.1, 0.2, 0.4, 0.9, 0.99].map((share) => quantile(share, buckets))).toEqual([0.5, 1, 1.5, 4, 4]);
  expect(quantile(0.5, new Map([[1, 0]]))).toBeNull();
});
