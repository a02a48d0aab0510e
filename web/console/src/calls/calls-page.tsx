/** All calls, live, with the API's filters. */
import { MultiSelect, Select, TextInput } from '@mantine/core';
import type { SessionRow } from '../api/live-events.ts';
import { useList } from '../api/queries.ts';
import type { SessionList } from '../api/types.ts';
import { AgentFilter } from '../parts/agent-filter.tsx';
import { ClearFilters, FilterBar, type FilterState, TypedFilter, useFilters } from '../parts/filters.tsx';
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
  const { filters, isFiltered, set, clear } = useFilters(FILTERS);
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
      actions={isFiltered && <ClearFilters clear={clear} />}
    >
      <FilterBar>
        <AgentFilter filters={filters} set={set} />
        <Choices filters={filters} set={set} />
        <Entries filters={filters} set={set} />
      </FilterBar>
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

/** The filters with fixed values. */
function Choices({ filters, set }: FilterState<Filter>) {
  const listOf = (name: Filter) => (filters[name] === '' ? [] : filters[name].split(','));
  return (
    <>
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

/** The filters to type. */
function Entries({ filters, set }: FilterState<Filter>) {
  return (
    <>
      <TypedFilter name="caller_number" label="Caller" placeholder="+1415…" filters={filters} set={set} />
      <TypedFilter name="sip_call_id" label="SIP Call-ID" filters={filters} set={set} />
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
