import { expect, it } from 'vitest';
import { METRICS_PAGE, metricsTables } from '#scripts/metrics-page.ts';
import { textBetween } from '#scripts/put-between.ts';

it('docs/metrics.md lists exactly the metrics that the parts register; npm run docs:metrics updates it', () => {
  expect(textBetween(...METRICS_PAGE)).toBe(`\n${metricsTables()}\n`);
});
