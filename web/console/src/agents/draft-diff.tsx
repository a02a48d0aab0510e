/** What differs between what callers get and the draft, field by field. */
import { Stack, Table, Text } from '@mantine/core';
import { useRead } from '../api/queries.ts';
import type { Agent, AgentConfig, Version, VersionList } from '../api/types.ts';
import { Loaded } from '../parts/states.tsx';
import { Scrollable } from '../parts/table.tsx';
import { type Difference, differences } from './draft.ts';

export function DraftDiff({ agent, draft }: { agent: Agent; draft: AgentConfig }) {
  const path = `/v1/agent/agents/${agent.agent_id}/versions`;
  const versions = useRead<VersionList>(path, { query: { page_size: 1 } });
  const newest = versions.data?.versions[0]?.version_number;
  const live = useRead<Version>(newest === undefined ? null : `${path}/${newest}`);
  if (agent.publication_state === 'draft') return <Text c="dimmed">This agent was never published: all of it is new.</Text>;
  return <Loaded query={live}>{(version) => <Differences list={differences(version.config, draft)} />}</Loaded>;
}

/** Differences as a table. */
export function Differences({ list }: { list: readonly Difference[] }) {
  if (list.length === 0) return <Text c="dimmed">The settings are the same; what changed is an attached tool or knowledge source, or nothing.</Text>;
  return (
    <Scrollable label="Differences">
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Setting</Table.Th>
            <Table.Th>From, to</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {list.map(({ path, before, after }) => (
            <Table.Tr key={path}>
              <Table.Td className="mono" style={{ verticalAlign: 'top' }}>
                {path}
              </Table.Td>
              <Table.Td>
                <Stack gap={4}>
                  <span className="diff-old">{before === '' ? '(empty)' : before}</span>
                  <span className="diff-new">{after === '' ? '(empty)' : after}</span>
                </Stack>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Scrollable>
  );
}
