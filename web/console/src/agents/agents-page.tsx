/** Lists all agents and creates one. */
import { Button, Group, Modal, Switch, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { useList } from '../api/queries.ts';
import type { Agent } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { dateTime } from '../parts/format.ts';
import { Page } from '../parts/page.tsx';
import { Empty, LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';
import { NewAgent } from './new-agent.tsx';

interface AgentList {
  agents: Agent[];
  has_more: boolean;
  next_cursor: string | null;
}

export default function AgentsPage() {
  const [search, setSearch] = useState('');
  const [withArchived, setWithArchived] = useState(false);
  const [wanted] = useDebouncedValue(search, 250);
  const [isOpen, dialog] = useDisclosure(false);
  const list = useList<AgentList, Agent>('/v1/agent/agents', (answer) => answer.agents, {
    search: wanted,
    include_archived: withArchived,
  });
  return (
    <Page
      title="Agents"
      intro="Who answers your calls."
      actions={
        <Button leftSection={<IconPlus size={16} />} onClick={dialog.open}>
          New agent
        </Button>
      }
    >
      <Group>
        <TextInput
          aria-label="Search agents"
          placeholder="Search by name or description"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          w={{ base: '100%', xs: 320 }}
        />
        <Switch
          label="Show archived"
          checked={withArchived}
          onChange={(event) => setWithArchived(event.currentTarget.checked)}
        />
      </Group>
      <LoadedList
        list={list}
        empty={
          <Empty
            title={wanted === '' ? 'No agents yet' : 'No agent matches'}
            action={<Button onClick={dialog.open}>Create an agent</Button>}
          >
            An agent is a prompt, a voice and what it may do. It starts as a draft and takes calls once you
            publish it.
          </Empty>
        }
      >
        {(agents) => (
          <DataTable label="Agents" heads={['Name', 'Published', 'Reachable from web pages', 'Changed']}>
            {agents.map((agent) => (
              <Table.Tr key={agent.agent_id}>
                <Table.Td>
                  <Link className="row-link" href={`/agents/${agent.agent_id}`}>
                    {agent.name}
                  </Link>
                  <Text size="sm" c="dimmed" lineClamp={1}>
                    {agent.description}
                  </Text>
                </Table.Td>
                <Table.Td>
                  <PublicationBadge agent={agent} />
                </Table.Td>
                <Table.Td>{agent.public_enabled ? 'Public' : 'With a key only'}</Table.Td>
                <Table.Td>{dateTime(agent.updated_at)}</Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )}
      </LoadedList>
      <Modal opened={isOpen} onClose={dialog.close} title="New agent" size="lg" centered>
        <NewAgent />
      </Modal>
    </Page>
  );
}

/** Shows whether the agent is published and whether its draft differs from the published version. */
export function PublicationBadge({ agent }: { agent: Agent }) {
  if (agent.status === 'archived') return <StateBadge state="queued" label="Archived" />;
  if (agent.publication_state === 'draft') return <StateBadge state="draft" label="Draft, never published" />;
  return agent.has_unpublished_changes ? (
    <StateBadge state="pending" label="Live, with unpublished changes" />
  ) : (
    <StateBadge state="live" label="Live" />
  );
}
