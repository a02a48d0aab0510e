/** All calls, live, with the API's filters. Filters are kept in the address, to make a view shareable. */
import { Button, Group, MultiSelect, Select, TextInput } from '@mantine/core';
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks';
import { useSearchParams } from 'wouter';
import type { SessionRow } from '../api/live-events.ts';
import { useList, useRead } from '../api/queries.ts';
import type { Agent, SessionList } from '../api/types.ts';
import { words } from '../parts/format.ts';
import { Page } from '../parts/page.tsx';
import { Empty, LoadedList } from '../parts/states.tsx';
import { CallsTable } from './calls-table.tsx';

const STATUSES = ['active', 'completed', 'failed', 'unknown', 'pending'];
const END_REASONS = [
  'user_hangup',
  'agent_hangup',
  'escalated',
  'conversation_timeout',
  'heartbeat_timeout',
  'agent_join_timeout',
  'internal_error',
  'llm_endpoint_failure',
  'room_join_timeout',
  'cancelled',
  'dial_failed',
];
const FILTERS = [
  'agent_id',
  'status',
  'end_reason',
  'direction',
  'caller_number',
  'sip_call_id',
  'created_after',
  'created_before',
] as const;
type Filter = (typeof FILTERS)[number];

export default function CallsPage() {
  const [search, setSearch] = useSearchParams();
  const filters = Object.fromEntries(FILTERS.map((name) => [name, search.get(name) ?? ''])) as Record<
    Filter,
    string
  >;
  const isFiltered = Object.values(filters).some((value) => value !== '');
  const set = (name: Filter, value: string | null) =>
    setSearch((before) => {
      const next = new URLSearchParams(before);
      if (value === null || value === '') next.delete(name);
      else next.set(name, value);
      return next;
    });
  const query = {
    ...filters,
    created_after: asInstant(filters.created_after),
    created_before: asInstant(filters.created_before),
  };
  const list = useList<SessionList, SessionRow>('/v1/agent/sessions', (answer) => answer.sessions, query);
  return (
    <Page
      title="Calls"
      intro="Newest first; calls in progress update as you watch."
      actions={
        isFiltered && (
          <Button variant="default" onClick={() => setSearch({})}>
            Clear filters
          </Button>
        )
      }
    >
      <Filters filters={filters} set={set} />
      <LoadedList
        list={list}
        empty={
          <Empty title={isFiltered ? 'No calls match' : 'No calls yet'}>
            {isFiltered
              ? 'Remove a filter.'
              : 'Calls by phone and from web pages appear here as soon as they are answered.'}
          </Empty>
        }
      >
        {(rows) => <CallsTable rows={rows} label="Calls" />}
      </LoadedList>
    </Page>
  );
}

interface FilterProps {
  readonly filters: Record<Filter, string>;
  readonly set: (name: Filter, value: string | null) => void;
}

function Filters({ filters, set }: FilterProps) {
  const [isOpen, open] = useDisclosure(false);
  return (
    <>
      {/* On a phone the filters would fill the window, so they are closed at first. */}
      <Button variant="default" hiddenFrom="sm" aria-expanded={isOpen} onClick={open.toggle}>
        {isOpen ? 'Hide the filters' : 'Filters'}
      </Button>
      <Group
        className="filters"
        data-open={isOpen}
        align="flex-end"
        gap="xs"
        role="search"
        aria-label="Filters"
      >
        <Choices filters={filters} set={set} />
        <Entries filters={filters} set={set} />
      </Group>
    </>
  );
}

/** The filters with fixed values. */
function Choices({ filters, set }: FilterProps) {
  const agents = useRead<{ agents: Agent[] }>('/v1/agent/agents', {
    query: { page_size: 100, include_archived: true },
  });
  const listOf = (name: Filter) => (filters[name] === '' ? [] : filters[name].split(','));
  return (
    <>
      <Select
        label="Agent"
        clearable
        searchable
        w={170}
        data={agents.data?.agents.map(({ agent_id, name }) => ({ value: agent_id, label: name })) ?? []}
        value={filters.agent_id || null}
        onChange={(value) => set('agent_id', value)}
      />
      <MultiSelect
        label="Status"
        clearable
        w={180}
        data={STATUSES.map((value) => ({ value, label: value === 'active' ? 'Running' : words(value) }))}
        value={listOf('status')}
        onChange={(values) => set('status', values.join(','))}
      />
      <MultiSelect
        label="Ended by"
        clearable
        w={180}
        data={END_REASONS.map((value) => ({ value, label: words(value) }))}
        value={listOf('end_reason')}
        onChange={(values) => set('end_reason', values.join(','))}
      />
      <Select
        label="Direction"
        clearable
        w={130}
        data={[
          { value: 'inbound', label: 'Inbound' },
          { value: 'outbound', label: 'Outbound' },
        ]}
        value={filters.direction || null}
        onChange={(value) => set('direction', value)}
      />
    </>
  );
}

/** The filters to type; text is applied when typing pauses. */
function Entries({ filters, set }: FilterProps) {
  const later = useDebouncedCallback(set, 300);
  return (
    <>
      <TextInput
        label="Caller"
        placeholder="+1415…"
        w={140}
        defaultValue={filters.caller_number}
        onChange={(event) => later('caller_number', event.currentTarget.value.trim())}
      />
      <TextInput
        label="SIP Call-ID"
        w={140}
        defaultValue={filters.sip_call_id}
        onChange={(event) => later('sip_call_id', event.currentTarget.value.trim())}
      />
      <TextInput
        type="datetime-local"
        label="From"
        w={200}
        value={filters.created_after}
        onChange={(event) => set('created_after', event.currentTarget.value)}
      />
      <TextInput
        type="datetime-local"
        label="To"
        w={200}
        value={filters.created_before}
        onChange={(event) => set('created_before', event.currentTarget.value)}
      />
    </>
  );
}

/** Converts the local time of an input to the API's format. */
function asInstant(local: string): string {
  const at = new Date(local);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString();
}
