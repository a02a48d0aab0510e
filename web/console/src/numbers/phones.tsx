/** The phones that register here, where they are, and their passwords; nothing while there are none. */
import { Alert, Button, Group, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { SipPhone } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Copy, Secret } from '../parts/copy.tsx';
import { dateTime } from '../parts/format.ts';
import { DataTable } from '../parts/table.tsx';

const PHONES = '/v1/agent/sip-phones';
const REFETCH_MS = 5_000;

type WithPassword = SipPhone & { readonly password: string };

export function Phones() {
  const phones = useRead<{ sip_phones: SipPhone[] }>(PHONES, {
    query: { page_size: 100 },
    refetchMs: REFETCH_MS,
  });
  const [made, setMade] = useState<WithPassword | null>(null);
  const rows = phones.data?.sip_phones ?? [];
  if (rows.length === 0) return null;
  return (
    <Stack gap="xs" mt="xl">
      <Title order={2} size="h4">
        Phones
      </Title>
      <DataTable label="Phones" heads={['Extension', 'Username', 'State', '']}>
        {rows.map((phone) => (
          <Row key={phone.sip_phone_id} phone={phone} onPassword={setMade} />
        ))}
      </DataTable>
      {made && <Account phone={made} />}
    </Stack>
  );
}

function Row({ phone, onPassword }: { phone: SipPhone; onPassword: (made: WithPassword) => void }) {
  const path = `${PHONES}/${phone.sip_phone_id}`;
  const renew = useChange(() => call<WithPassword>('POST', `${path}/password`), {
    touches: [PHONES],
    done: 'The old password is over',
    onDone: onPassword,
  });
  const remove = useChange(() => call('DELETE', path), { touches: [PHONES], done: 'Removed' });
  const { registrations, last_refused: refused } = phone;
  return (
    <Table.Tr>
      <Table.Td>
        <Text fw={600} className="tabular">
          {phone.extension}
        </Text>
        <Text size="sm" c="dimmed">
          {phone.display_name}
        </Text>
      </Table.Td>
      <Table.Td>
        <Group gap={4} wrap="nowrap">
          <Text className="mono">{phone.username}</Text>
          <Copy value={phone.username} label="the username" />
        </Group>
      </Table.Td>
      <Table.Td>
        <StateBadge
          state={registrations.length > 0 ? 'registered' : 'offline'}
          label={registrations.length > 0 ? 'Registered' : 'Not registered'}
        />
        {registrations.map(({ contact, source_address, transport, user_agent }) => (
          <Text size="sm" c="dimmed" key={contact}>
            {[user_agent, `${source_address} over ${transport.toUpperCase()}`].filter(Boolean).join(', ')}
          </Text>
        ))}
        {refused && (
          <Text size="sm" c="dimmed">
            Wrong password from {refused.source_address}, {dateTime(refused.at)}
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="right">
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          <ConfirmButton
            size="xs"
            title={`Make a new password for ${phone.extension}?`}
            text="Devices with the old password are no longer rung until they have the new one."
            onConfirm={() => renew.mutate()}
          >
            New password
          </ConfirmButton>
          <ConfirmButton
            size="xs"
            title={`Remove the phone ${phone.extension}?`}
            text="Its devices can no longer register, and transfers to it fail."
            onConfirm={() => remove.mutate()}
          >
            Remove
          </ConfirmButton>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

/** Makes a phone and shows its account. */
export function AddPhone() {
  const [extension, setExtension] = useState('');
  const [name, setName] = useState('');
  const [made, setMade] = useState<WithPassword | null>(null);
  const create = useChange(
    () => call<WithPassword>('POST', PHONES, { extension: extension.trim(), display_name: name.trim() }),
    { touches: [PHONES], done: 'The phone can register now', onDone: setMade },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  if (made) return <Account phone={made} />;
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Extension"
          description="2 to 6 digits; transfers ring it."
          placeholder="204"
          inputMode="numeric"
          value={extension}
          onChange={(event) => setExtension(event.currentTarget.value)}
        />
        <TextInput
          label="Name"
          placeholder="Ada"
          maxLength={120}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Text size="sm" c="dimmed">
          Parley makes username and password. Enter them in the softphone or desk phone, with this server as
          its registrar.
        </Text>
        <Button type="submit" loading={create.isPending} disabled={!/^\d{2,6}$/.test(extension.trim())}>
          Make the phone
        </Button>
      </Stack>
    </form>
  );
}

function Account({ phone }: { phone: WithPassword }) {
  return (
    <Alert
      title={`Enter these in the phone ${phone.extension} now; the password is not shown again`}
      role="status"
    >
      <Stack gap="xs">
        <Field label="Username" value={phone.username} />
        <Field label="Password" value={phone.password} />
      </Stack>
    </Alert>
  );
}

function Field({ label, value }: { label: string; value: string }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Text size="sm" w={90}>
        {label}
      </Text>
      <Secret value={value} label={`the ${label.toLowerCase()}`} />
    </Group>
  );
}
