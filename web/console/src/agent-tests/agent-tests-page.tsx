/** Agent tests: lists an agent's tests, runs them against its draft and shows the result of each run. */
import { Button, Group, Modal, Select, Stack, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useSearchParams } from 'wouter';
import { call } from '../api/client.ts';
import { useChange, useList, useRead } from '../api/queries.ts';
import type { Agent, AgentTest, TestBatch } from '../api/types.ts';
import { percent, words } from '../parts/format.ts';
import { Page } from '../parts/page.tsx';
import { Empty, LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';
import { NewTest } from './new-test.tsx';
import { TestRuns } from './test-runs.tsx';

interface TestList {
  tests: AgentTest[];
  has_more: boolean;
  next_cursor: string | null;
}

export default function AgentTestsPage() {
  const [search, setSearch] = useSearchParams();
  const [isOpen, dialog] = useDisclosure(false);
  const agents = useRead<{ agents: Agent[] }>('/v1/agent/agents', { query: { page_size: 100 } });
  const agentId = search.get('agent_id') ?? agents.data?.agents[0]?.agent_id ?? '';
  const tests = useList<TestList, AgentTest>('/v1/agent/tests', (answer) => answer.tests, {
    agent_id: agentId,
  });
  const run = useChange(() => call<TestBatch>('POST', `/v1/agent/agents/${agentId}/tests/run`, {}), {
    touches: ['/v1/agent/agents', '/v1/agent/test-runs'],
    done: 'The tests are running',
  });
  return (
    <Page
      title="Agent tests"
      intro="Text conversations with an agent’s draft, judged against what you expect."
      actions={
        <>
          <Button variant="default" onClick={dialog.open} disabled={agentId === ''}>
            New test
          </Button>
          <Button
            loading={run.isPending}
            disabled={(tests.rows?.length ?? 0) === 0}
            onClick={() => run.mutate()}
          >
            Run all
          </Button>
        </>
      }
    >
      <Select
        label="Agent"
        allowDeselect={false}
        maw={320}
        data={agents.data?.agents.map(({ agent_id, name }) => ({ value: agent_id, label: name })) ?? []}
        value={agentId}
        onChange={(id) => id && setSearch({ agent_id: id })}
      />
      <LoadedList
        list={tests}
        empty={
          <Empty
            title="No tests for this agent yet"
            action={<Button onClick={dialog.open}>Create a test</Button>}
          >
            Say what a caller says and what answer you expect.
          </Empty>
        }
      >
        {(rows) => (
          <DataTable label="Tests" heads={['Test', 'Kind', 'Expectation']}>
            {rows.map((test) => (
              <Table.Tr key={test.test_id}>
                <Table.Td fw={600}>{test.name}</Table.Td>
                <Table.Td>{words(test.test_type)}</Table.Td>
                <Table.Td>{expectationOf(test)}</Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )}
      </LoadedList>
      {agentId !== '' && <Results agentId={agentId} tests={tests.rows ?? []} />}
      <Modal opened={isOpen} onClose={dialog.close} title="New test" size="lg" centered>
        <NewTest agentId={agentId} onDone={dialog.close} />
      </Modal>
    </Page>
  );
}

/** What a test expects, in one line. */
function expectationOf({ test_type, simulation, expectation, ...test }: AgentTest): string {
  if (test_type !== 'tool') return simulation?.scenario ?? expectation;
  const tool = test.referenced_tool;
  if (tool === null) return 'Calls no tool';
  return `${test.verify_absence ? 'Does not call' : 'Calls'} ${tool.name || tool.id}`;
}

interface BatchList {
  test_batches: TestBatch[];
}

function Results({ agentId, tests }: { agentId: string; tests: readonly AgentTest[] }) {
  const batches = useRead<BatchList>(`/v1/agent/agents/${agentId}/test-batches`, {
    query: { page_size: 1 },
    refetchMs: 3_000,
  });
  const batch = batches.data?.test_batches[0];
  if (!batch) return null;
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text component="h2" fw={600}>
          Last run
        </Text>
        <Text c="dimmed" role="status">
          {batch.completed} of {batch.run_count} done · {batch.passed} passed · {batch.failed} failed ·{' '}
          {batch.errors} could not run
          {batch.pass_rate !== null && ` · ${percent(batch.pass_rate)}`}
        </Text>
      </Group>
      <TestRuns batchId={batch.batch_id} isRunning={batch.status === 'running'} tests={tests} />
    </Stack>
  );
}
