/** The registrations at PBXs with their state and last error; nothing while there are none. */
import { Stack, Table, Text, Title } from '@mantine/core';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { PhoneNumber, SipRegistration } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { DataTable } from '../parts/table.tsx';

const LINES = '/v1/agent/sip-registrations';
const REFETCH_MS = 5_000;

export function PbxLines({ numbers }: { numbers: readonly PhoneNumber[] }) {
  const lines = useRead<{ sip_registrations: SipRegistration[] }>(LINES, {
    query: { page_size: 100 },
    refetchMs: REFETCH_MS,
  });
  const rows = lines.data?.sip_registrations ?? [];
  if (rows.length === 0) return null;
  return (
    <Stack gap="xs" mt="xl">
      <Title order={2} size="h4">
        Connected PBXs
      </Title>
      <DataTable label="Connected PBXs" heads={['Account', 'Number', 'State', '']}>
        {rows.map((line) => (
          <Line
            key={line.sip_registration_id}
            line={line}
            number={numbers.find(({ phone_number_id }) => phone_number_id === line.phone_number_id)}
          />
        ))}
      </DataTable>
    </Stack>
  );
}

function Line({ line, number }: { line: SipRegistration; number: PhoneNumber | undefined }) {
  const account = `${line.username}@${line.registrar}`;
  const end = useChange(() => call('DELETE', `${LINES}/${line.sip_registration_id}`), {
    touches: [LINES, '/v1/agent/phone-numbers'],
    done: 'Disconnected',
  });
  return (
    <Table.Tr>
      <Table.Td>
        <Text fw={600}>{account}</Text>
        <Text size="sm" c="dimmed">
          {line.label}
        </Text>
      </Table.Td>
      <Table.Td className="tabular">{number?.phone_number ?? 'None (busy)'}</Table.Td>
      <Table.Td>
        <StateBadge state={line.state} />
        <Text size="sm" c="dimmed">
          {line.last_error?.message}
        </Text>
      </Table.Td>
      <Table.Td ta="right">
        <ConfirmButton
          size="xs"
          title={`Disconnect ${account}?`}
          text="The PBX is told that the registration is over. Calls to the account find no agent any more."
          onConfirm={() => end.mutate()}
        >
          Disconnect
        </ConfirmButton>
      </Table.Td>
    </Table.Tr>
  );
}
