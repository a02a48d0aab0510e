/** Needless waits and callers cut off over time, a line for each version. */
import { SimpleGrid, Text } from '@mantine/core';
import type { Regret } from '../api/types.ts';
import { VersionLines } from './version-lines.tsx';

/** Lines of a plot: those of the newest versions. */
const MOST_LINES = 8;

type Day = Regret['by_day'][number];

export function RegretPlot({ regret }: { readonly regret: Regret }) {
  const versions = regret.by_version.map(({ version_number: number }) => number).slice(-MOST_LINES);
  const days = [...Map.groupBy(regret.by_day, ({ day }) => day)];
  const plot = (title: string, value: (day: Day) => number) => (
    <div>
      <Text size="sm" fw={500}>
        {title}
      </Text>
      <VersionLines
        h={180}
        withLegend={versions.length > 1}
        versions={versions}
        rows={days.map(([day, of]) => ({
          at: day.slice(5),
          figures: of.map((one) => [one.version_number, value(one)]),
        }))}
      />
    </div>
  );
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      {plot('Needless wait in a turn, ms', (day) => Math.round(day.needless_wait_ms.value))}
      {plot('Callers cut off in 100 turns', (day) => day.cut_offs.value)}
    </SimpleGrid>
  );
}
