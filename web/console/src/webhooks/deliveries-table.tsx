/** Webhook deliveries: the outcome of each, and redelivery. */
import { Button, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import { call } from '../api/client.ts';
import { useChange } from '../api/queries.ts';
import type { Deliveries } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { dateTime } from '../parts/format.ts';
import { DataTable } from '../parts/table.tsx';

type Delivery = Deliveries['deliveries'][number];

/** `withCalls` links each event to its call. */
export function DeliveriesTable({
  rows,
  withCalls = false,
}: {
  rows: readonly Delivery[];
  withCalls?: boolean;
}) {
  return (
    <DataTable
      label="Webhook deliveries"
      heads={['Event', 'Address', 'State', 'Attempts', 'Last answer', 'Created', '']}
    >
      {rows.map((delivery) => (
        <Table.Tr key={delivery.delivery_id}>
          <Table.Td className="mono nowrap">
            {withCalls ? (
              <Link className="text-link" href={`/calls/${delivery.session_id}`}>
                {delivery.event}
              </Link>
            ) : (
              delivery.event
            )}
          </Table.Td>
          <Table.Td className="mono" miw={160} maw={280}>
            {delivery.url}
          </Table.Td>
          <Table.Td>
            <StateBadge state={delivery.state} />
          </Table.Td>
          <Table.Td className="tabular">{delivery.attempts}</Table.Td>
          <Table.Td>{delivery.last_status ?? delivery.last_error ?? '–'}</Table.Td>
          <Table.Td className="nowrap">
            <Text size="sm">{dateTime(delivery.created_at)}</Text>
          </Table.Td>
          <Table.Td ta="right">
            <Resend delivery={delivery} />
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

function Resend({ delivery }: { delivery: Delivery }) {
  const path = `/v1/agent/sessions/${delivery.session_id}/deliveries`;
  const resend = useChange(() => call('POST', `${path}/${encodeURIComponent(delivery.delivery_id)}/resend`), {
    touches: [path, '/v1/agent/deliveries'],
    done: 'Sending again',
  });
  const isOver = delivery.state === 'delivered' || delivery.state === 'dropped';
  return (
    <Button
      size="xs"
      variant="default"
      disabled={!isOver}
      loading={resend.isPending}
      onClick={() => resend.mutate()}
      aria-label={`Send again: ${delivery.event}`}
    >
      Send again
    </Button>
  );
}
