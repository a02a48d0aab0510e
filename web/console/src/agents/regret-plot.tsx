/** Needless waits and callers cut off over time, a line for each version. */
import '@mantine/charts/styles.css';
import { LineChart } from '@mantine/charts';
import { SimpleGrid, Text } from '@mantine/core';
import type { Regret } from '../api/types.ts';

const COLORS = ['indigo.5', 'orange.5', 'teal.6', 'grape.5', 'red.5', 'blue.5', 'lime.6', 'gray.5'];
/** Lines of a plot: those of the newest versions. */
const MOST_LINES = 8;

type Day = Regret['by_day'][number];

export default function RegretPlot({ regret }: { readonly regret: Regret }) {
  const versions = regret.by_version.map(({ version_number: number }) => number).slice(-MOST_LINES);
  const days = [...Map.groupBy(regret.by_day, ({ day }) => day)];
  const rowsOf = (value: (day: Day) => number) =>
    days.map(([day, of]) => ({
      at: day.slice(5),
      ...Object.fromEntries(of.map((one) => [nameOf(one.version_number), value(one)])),
    }));
  const shared = {
    h: 180,
    dataKey: 'at',
    withLegend: versions.length > 1,
    connectNulls: true,
    textColor: 'var(--mantine-color-dimmed)',
    gridAxis: 'x',
    series: versions.map((number, index) => ({
      name: nameOf(number),
      color: COLORS[index % COLORS.length] ?? 'gray.5',
    })),
  } as const;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <div>
        <Text size="sm" fw={500}>
          Needless wait in a turn, ms
        </Text>
        <LineChart {...shared} data={rowsOf((day) => Math.round(day.needless_wait_ms.value))} />
      </div>
      <div>
        <Text size="sm" fw={500}>
          Callers cut off in 100 turns
        </Text>
        <LineChart {...shared} data={rowsOf((day) => day.cut_offs.value)} />
      </div>
    </SimpleGrid>
  );
}

function nameOf(version: number): string {
  return `Version ${version}`;
}
