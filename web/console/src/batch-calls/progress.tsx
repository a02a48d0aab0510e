/** Progress of a batch: the outcomes of its rows as a bar and in words. */
import { Group, Progress, Text } from '@mantine/core';
import type { BatchCall } from '../api/types.ts';
import { dateTime, words } from '../parts/format.ts';

type Counts = BatchCall['counts'];

/** In bar order; the empty end of the bar represents waiting rows. */
const PARTS = [
  ['completed', 'teal.7'],
  ['calling', 'indigo.6'],
  ['busy', 'yellow.6'],
  ['no_answer', 'orange.6'],
  ['failed', 'red.7'],
  ['do_not_call', 'gray.6'],
  ['cancelled', 'gray.5'],
] as const satisfies readonly (readonly [keyof Counts, string])[];

/** Number of finished rows. */
export function doneOf({ row_count, counts }: BatchCall): number {
  return row_count - counts.waiting - counts.calling;
}

export function BatchProgress({ batch }: { batch: BatchCall }) {
  const { counts, row_count } = batch;
  const parts = PARTS.filter(([state]) => counts[state] > 0);
  const done = doneOf(batch);
  return (
    <div>
      <Progress.Root size="lg" mb={6}>
        {parts.map(([state, color]) => (
          <Progress.Section
            key={state}
            value={(counts[state] / row_count) * 100}
            color={color}
            aria-label={`${words(state)}: ${counts[state]}`}
          />
        ))}
      </Progress.Root>
      <Group gap="xs">
        <Text size="sm" role="status" className="tabular">
          {done} of {row_count} done
          {parts.map(([state]) => ` · ${counts[state]} ${words(state).toLowerCase()}`).join('')}
          {counts.opted_out > 0 && ` · ${counts.opted_out} opted out`}
        </Text>
        {batch.opens_at !== null && (
          <Text size="sm" c="dimmed">
            {parts.length === 0 ? 'Begins' : 'Outside calling hours; continues'} {dateTime(batch.opens_at)}
          </Text>
        )}
      </Group>
    </div>
  );
}
