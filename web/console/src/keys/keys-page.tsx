/** The account's API keys: list, create (shown once), delete. */
import { Alert, Button, Checkbox, Group, Table, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { Account, CreatedKey, KeyList } from '../api/types.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Secret } from '../parts/copy.tsx';
import { dateTime } from '../parts/format.ts';
import { Page, Section } from '../parts/page.tsx';
import { Loaded } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';

export default function KeysPage() {
  const keys = useRead<KeyList>('/v1/keys');
  const account = useRead<Account>('/v1/account');
  const remove = useChange((id: string) => call('DELETE', `/v1/keys/${id}`), {
    touches: ['/v1/keys'],
    done: 'Key deleted; programs that use it are refused from now on',
  });
  return (
    <Page
      title="API keys"
      intro="A key acts for the whole account. Only its hash is stored, so it is shown once."
    >
      <NewKey mayExportCalls={account.data?.may_export_calls === true} />
      <Loaded query={keys}>
        {({ keys: rows }) => (
          <DataTable label="API keys" heads={['Name', 'Created', 'Expires', '']}>
            {rows.map((key) => (
              <Table.Tr key={key.key_id}>
                <Table.Td fw={600}>
                  {key.name}
                  {key.may_export_calls && (
                    <Text size="xs" c="dimmed">
                      May export calls
                    </Text>
                  )}
                </Table.Td>
                <Table.Td>{dateTime(key.created_at)}</Table.Td>
                <Table.Td>{key.expires_at === null ? 'Never' : dateTime(key.expires_at)}</Table.Td>
                <Table.Td ta="right">
                  {key.key_id === account.data?.key_id ? (
                    <Text size="sm" c="dimmed">
                      In use here
                    </Text>
                  ) : (
                    <ConfirmButton
                      size="xs"
                      title={`Delete the key ${key.name}?`}
                      text="Programs that use it are refused at once."
                      onConfirm={() => remove.mutate(key.key_id)}
                    >
                      Delete
                    </ConfirmButton>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )}
      </Loaded>
    </Page>
  );
}

function NewKey({ mayExportCalls }: { readonly mayExportCalls: boolean }) {
  const [name, setName] = useState('');
  const [exports, setExports] = useState(false);
  const [expires, setExpires] = useState('');
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const create = useChange(
    () =>
      call<CreatedKey>('POST', '/v1/keys', {
        name: name.trim(),
        expires_at: expires === '' ? null : new Date(`${expires}T23:59:59`).toISOString(),
        ...(exports && { may_export_calls: true }),
      }),
    {
      touches: ['/v1/keys'],
      onDone: (key) => {
        setCreated(key);
        setName('');
      },
    },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <Section title="New key">
      <form onSubmit={submit}>
        <Group align="flex-end">
          <TextInput
            label="Name"
            placeholder="Purpose"
            maxLength={120}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <TextInput
            label="Expires"
            type="date"
            value={expires}
            onChange={(event) => setExpires(event.currentTarget.value)}
          />
          <Button type="submit" loading={create.isPending} disabled={name.trim() === ''}>
            Create key
          </Button>
        </Group>
        {mayExportCalls && (
          <Checkbox
            mt="sm"
            label="May export calls to files"
            checked={exports}
            onChange={(event) => setExports(event.currentTarget.checked)}
          />
        )}
      </form>
      {created && (
        <Alert
          color="teal"
          variant="outline"
          mt="md"
          title="Copy it now; it is not shown again"
          role="status"
        >
          <Secret value={created.api_key} label="the key" />
        </Alert>
      )}
    </Section>
  );
}
