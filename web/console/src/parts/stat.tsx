/** Figures in a row: label, value and explanation. */
import { SimpleGrid, Text } from '@mantine/core';

interface Stat {
  readonly label: string;
  readonly value: string;
  readonly hint: string;
}

export function StatGrid({ stats }: { stats: readonly Stat[] }) {
  return (
    <SimpleGrid className="stats" cols={{ base: 2, sm: 3, lg: stats.length }} spacing="sm">
      {stats.map(({ label, value, hint }) => (
        <div key={label} className="card" style={{ padding: 16 }}>
          <Text size="sm" c="dimmed">
            {label}
          </Text>
          <Text fz={26} fw={650} lh={1.3} className="tabular">
            {value}
          </Text>
          <Text size="xs" c="dimmed">
            {hint}
          </Text>
        </div>
      ))}
    </SimpleGrid>
  );
}
