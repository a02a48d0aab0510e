/** Why calls were refused. */
import { Group, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useList } from '../api/queries.ts';
import type { Refusals } from '../api/types.ts';
import { dateTime, words } from '../parts/format.ts';
import { Page } from '../parts/page.tsx';
import { Empty, LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';

export default function RefusalsPage() {
  const [number, setNumber] = useState('');
  const [reason, setReason] = useState('');
  const [query] = useDebouncedValue({ number: number.trim(), reason: reason.trim() }, 300);
  const list = useList<Refusals, Refusals['refusals'][number]>(
    '/v1/agent/refusals',
    (answer) => answer.refusals,
    query,
  );
  return (
    <Page
      title="Refused calls"
      intro="Calls, sessions and outbound calls that were refused, with the reason; kept for 30 days."
    >
      <Group gap="xs">
        <TextInput
          label="Number"
          placeholder="+1415…"
          value={number}
          onChange={(event) => setNumber(event.currentTarget.value)}
        />
        <TextInput
          label="Reason"
          placeholder="number_unbound"
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      </Group>
      <LoadedList
        list={list}
        empty={<Empty title="No refused calls">If a call cannot be taken, the reason appears here.</Empty>}
      >
        {(rows) => (
          <DataTable label="Refused calls" heads={['When', 'What', 'Reason', 'From', 'To', 'Answer']}>
            {rows.map((refusal) => (
              <Table.Tr key={refusal.refusal_id}>
                <Table.Td>{dateTime(refusal.created_at)}</Table.Td>
                <Table.Td>{words(refusal.kind)}</Table.Td>
                <Table.Td maw={380}>
                  {refusal.message}
                  <Text className="mono" c="dimmed">
                    {refusal.reason}
                  </Text>
                </Table.Td>
                <Table.Td>{refusal.caller_number ?? '–'}</Table.Td>
                <Table.Td>{refusal.dialed_number ?? '–'}</Table.Td>
                <Table.Td className="tabular">{refusal.status}</Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )}
      </LoadedList>
    </Page>
  );
}
