/** Calls as rows: the other party, agent, time, duration and end reason. A row links to the call's page. */
import { Group, Table, Text } from '@mantine/core';
import { IconPhoneIncoming, IconPhoneOutgoing, IconWorld } from '@tabler/icons-react';
import { Link } from 'wouter';
import type { SessionRow } from '../api/live-events.ts';
import { StateBadge } from '../parts/badges.tsx';
import { dateTime, duration, words } from '../parts/format.ts';
import { DataTable } from '../parts/table.tsx';

export function CallsTable({ rows, label }: { rows: readonly SessionRow[]; label: string }) {
  return (
    <DataTable label={label} heads={['Caller', 'Agent', 'Started', 'Length', 'Status', 'Ended by']}>
      {rows.map((row) => (
        <Table.Tr key={row.session_id}>
          <Table.Td>
            <Link className="row-link" href={`/calls/${row.session_id}`}>
              <Group gap={8} wrap="nowrap">
                <CallIcon row={row} />
                {otherParty(row)}
              </Group>
            </Link>
          </Table.Td>
          <Table.Td>{row.agent_name}</Table.Td>
          <Table.Td>{dateTime(row.started_at ?? row.created_at)}</Table.Td>
          <Table.Td className="tabular">{duration(row.duration_seconds)}</Table.Td>
          <Table.Td>
            <StateBadge state={row.status} label={row.status === 'active' ? 'Running' : words(row.status)} />
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

/** Numbers of the calling and the called end; a session names the other party's first in both directions. */
export function endsOf(row: SessionRow): { readonly from: string | null; readonly to: string | null } {
  const { caller_number: theirs, dialed_number: ours } = row;
  return row.direction === 'outbound' ? { from: ours, to: theirs } : { from: theirs, to: ours };
}

/** The other party, as far as known. */
export function otherParty(row: SessionRow): string {
  return row.caller_number ?? (row.source === 'phone' ? 'Withheld number' : (row.name ?? 'Web visitor'));
}

function endOf(row: SessionRow): string {
  if (row.end_reason === null) return '–';
  return row.dial_status !== null && row.dial_status !== 'answered'
    ? `${words(row.end_reason)} (${words(row.dial_status).toLowerCase()})`
    : words(row.end_reason);
}

function CallIcon({ row }: { row: SessionRow }) {
  if (row.source !== 'phone' && row.caller_number === null) return <IconWorld size={17} aria-label="Web" />;
  return row.direction === 'outbound' ? (
    <IconPhoneOutgoing size={17} aria-label="Outbound" />
  ) : (
    <IconPhoneIncoming size={17} aria-label="Inbound" />
  );
}
