/** Runs of a batch: passed or failed, what the agent said and how it was judged. */
import { Table, Text } from '@mantine/core';
import { useRead } from '../api/queries.ts';
import type { AgentTest, TestRun } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { milliseconds } from '../parts/format.ts';
import { Loaded } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';

interface RunList {
  test_runs: Omit<TestRun, 'simulation_result'>[];
}

export function TestRuns({
  batchId,
  isRunning,
  tests,
}: {
  batchId: string;
  isRunning: boolean;
  tests: readonly AgentTest[];
}) {
  const runs = useRead<RunList>('/v1/agent/test-runs', {
    query: { batch_id: batchId, page_size: 100 },
    refetchMs: isRunning ? 2_000 : false,
  });
  const nameOf = (id: string) => tests.find(({ test_id }) => test_id === id)?.name ?? id;
  return (
    <Loaded query={runs}>
      {({ test_runs: rows }) => (
        <DataTable label="Runs" heads={['Test', 'Result', 'What the agent said', 'Judged', 'Time']}>
          {rows.map((run) => (
            <Table.Tr key={run.run_id}>
              <Table.Td fw={600}>{nameOf(run.test_id)}</Table.Td>
              <Table.Td>
                <StateBadge state={run.status} />
                {run.needs_review && (
                  <Text size="sm" c="dimmed">
                    Look at it
                  </Text>
                )}
              </Table.Td>
              <Table.Td>{run.agent_reply ?? '–'}</Table.Td>
              <Table.Td>
                <Text size="sm">{run.error ?? run.judge_reasoning ?? '–'}</Text>
              </Table.Td>
              <Table.Td className="tabular">{milliseconds(run.latency_ms)}</Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
    </Loaded>
  );
}
