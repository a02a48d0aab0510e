/** The do-not-call list: shows the origin of each entry; entries can be added and removed. */
import { Button, Group, Table, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { call } from '../api/client.ts';
import { useChange, useList } from '../api/queries.ts';
import type { DoNotCallList } from '../api/types.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { dateTime } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';

type Entry = DoNotCallList['do_not_call'][number];

const PATH = '/v1/agent/do-not-call';
const SOURCES: Readonly<Record<Entry['source'], string>> = {
  api: 'You',
  voice: 'Opted out in a call',
  key: 'Pressed the key in a call',
};

export function DoNotCall() {
  const [number, setNumber] = useState('');
  const list = useList<DoNotCallList, Entry>(PATH, (answer) => answer.do_not_call);
  const add = useChange(() => call('POST', PATH, { phone_number: number.trim() }), {
    touches: [PATH],
    done: 'Batches do not call this number',
    onDone: () => setNumber(''),
  });
  const remove = useChange((phone: string) => call('DELETE', `${PATH}/${encodeURIComponent(phone)}`), {
    touches: [PATH],
    done: 'Removed',
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <Section title="Do not call">
      <form onSubmit={submit}>
        <Group align="flex-end" mb="md">
          <TextInput
            label="Number"
            placeholder="+14155550123"
            value={number}
            onChange={(event) => setNumber(event.currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={add.isPending} disabled={number.trim() === ''}>
            Do not call
          </Button>
        </Group>
      </form>
      <LoadedList
        list={list}
        empty={
          <Text size="sm" c="dimmed">
            The list is empty. Callees who opt out are added here.
          </Text>
        }
      >
        {(entries) => (
          <DataTable label="Numbers not to call" heads={['Number', 'Since', 'By', '']}>
            {entries.map((entry) => (
              <Table.Tr key={entry.phone_number}>
                <Table.Td className="tabular">{entry.phone_number}</Table.Td>
                <Table.Td>{dateTime(entry.created_at)}</Table.Td>
                <Table.Td>{SOURCES[entry.source]}</Table.Td>
                <Table.Td ta="right">
                  <ConfirmButton
                    size="xs"
                    title={`Allow calls to ${entry.phone_number} again?`}
                    text="Batches may call this number from now on."
                    onConfirm={() => remove.mutate(entry.phone_number)}
                  >
                    Remove
                  </ConfirmButton>
                </Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )}
      </LoadedList>
    </Section>
  );
}
