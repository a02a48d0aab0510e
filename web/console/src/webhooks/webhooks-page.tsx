/** Webhooks of all calls, by outcome. */
import { SegmentedControl } from '@mantine/core';
import { useSearchParams } from 'wouter';
import { useList } from '../api/queries.ts';
import type { Deliveries } from '../api/types.ts';
import { Page } from '../parts/page.tsx';
import { Empty, LoadedList } from '../parts/states.tsx';
import { DeliveriesTable } from './deliveries-table.tsx';

const STATES = [
  { value: '', label: 'All' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'pending', label: 'In progress' },
  { value: 'dropped', label: 'Dropped' },
];

export default function WebhooksPage() {
  const [search, setSearch] = useSearchParams();
  const state = search.get('state') ?? '';
  const list = useList<Deliveries, Deliveries['deliveries'][number]>(
    '/v1/agent/deliveries',
    (answer) => answer.deliveries,
    { state },
  );
  return (
    <Page
      title="Webhooks"
      intro={
        'Deliveries of each event to each address, with up to three attempts. Addresses and secrets are ' +
        'set per agent, under Analysis and webhooks.'
      }
    >
      <SegmentedControl
        data={STATES}
        value={state}
        onChange={(value) => setSearch(value === '' ? {} : { state: value })}
        style={{ alignSelf: 'flex-start' }}
        aria-label="State"
      />
      <LoadedList
        list={list}
        empty={
          <Empty title="No webhooks here">
            When a call of an agent with a post-call webhook ends, its delivery appears here.
          </Empty>
        }
      >
        {(rows) => <DeliveriesTable rows={rows} withCalls />}
      </LoadedList>
    </Page>
  );
}
