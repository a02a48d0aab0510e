/** All text sessions, chats and conversations by SMS, with the API's filters. */
import { Group, Select, Table, Text } from '@mantine/core';
import { IconDeviceMobileMessage, IconMessage } from '@tabler/icons-react';
import { Link } from 'wouter';
import { useList } from '../api/queries.ts';
import type { TextSessionList } from '../api/types.ts';
import { AgentFilter } from '../parts/agent-filter.tsx';
import { ClearFilters, FilterBar, TypedFilter, useFilters } from '../parts/filters.tsx';
import { dateTime } from '../parts/format.ts';
import { Page } from '../parts/page.tsx';
import { Empty, LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';
import { endOf, personOf, TextStatus } from './text-session.tsx';

type Row = TextSessionList['text_sessions'][number];

const FILTERS = ['agent_id', 'status', 'caller_number', 'end_user_id'] as const;
const STATUSES = [
  { value: 'active', label: 'Running' },
  { value: 'ended', label: 'Ended' },
];

export default function TextSessionsPage() {
  const { filters, isFiltered, set, clear } = useFilters(FILTERS);
  const list = useList<TextSessionList, Row>(
    '/v1/agent/text-sessions',
    (answer) => answer.text_sessions,
    filters,
  );
  return (
    <Page
      title="Text sessions"
      intro="Conversations in writing, by chat and by SMS, newest first."
      actions={isFiltered && <ClearFilters clear={clear} />}
    >
      <FilterBar>
        <AgentFilter filters={filters} set={set} />
        <Select
          label="Status"
          clearable
          w={130}
          data={STATUSES}
          value={filters.status || null}
          onChange={(value) => set('status', value)}
        />
        <TypedFilter name="caller_number" label="Number" placeholder="+1415…" filters={filters} set={set} />
        <TypedFilter name="end_user_id" label="User" filters={filters} set={set} />
      </FilterBar>
      <LoadedList
        list={list}
        empty={
          <Empty title={isFiltered ? 'No text sessions match' : 'No text sessions yet'}>
            {isFiltered
              ? 'Remove a filter.'
              : 'Chats and text messages to your numbers appear here. To try an agent, open its page.'}
          </Empty>
        }
      >
        {(rows) => <SessionsTable rows={rows} />}
      </LoadedList>
    </Page>
  );
}

function SessionsTable({ rows }: { rows: readonly Row[] }) {
  return (
    <DataTable
      label="Text sessions"
      heads={['Person', 'Agent', 'Last message', 'Messages', 'Status', 'Ended by']}
    >
      {rows.map((row) => (
        <Table.Tr key={row.text_session_id}>
          <Table.Td>
            <Link className="row-link" href={`/text-sessions/${row.text_session_id}`}>
              <Group gap={8} wrap="nowrap">
                {row.medium === 'sms' ? (
                  <IconDeviceMobileMessage size={17} aria-label="SMS" />
                ) : (
                  <IconMessage size={17} aria-label="Chat" />
                )}
                <span className="break">{personOf(row)}</span>
              </Group>
            </Link>
          </Table.Td>
          <Table.Td>{row.agent_name}</Table.Td>
          <Table.Td>{dateTime(row.last_message_at)}</Table.Td>
          <Table.Td className="tabular">{row.message_count}</Table.Td>
          <Table.Td>
            <TextStatus status={row.status} />
          </Table.Td>
          <Table.Td>
            <Text size="sm" c="dimmed">
              {endOf(row)}
            </Text>
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}
