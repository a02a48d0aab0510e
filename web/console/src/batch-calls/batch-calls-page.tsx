/** Batch calls: all lists with their progress, and creating one from a file. */
import { Button, Modal, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link, useLocation } from 'wouter';
import { useList } from '../api/queries.ts';
import type { BatchCall, BatchCallList } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { dateTime } from '../parts/format.ts';
import { Page } from '../parts/page.tsx';
import { Empty, LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';
import { DoNotCall } from './do-not-call.tsx';
import { NewBatch } from './new-batch.tsx';
import { BatchProgress } from './progress.tsx';

export default function BatchCallsPage() {
  const [isOpen, dialog] = useDisclosure(false);
  const [, go] = useLocation();
  const list = useList<BatchCallList, BatchCall>('/v1/agent/batch-calls', (answer) => answer.batch_calls);
  return (
    <Page
      title="Batch calls"
      intro={
        'An agent calls every number of a list, within the calling hours of each number’s location and at ' +
        'the pace you set.'
      }
      actions={<Button onClick={dialog.open}>New batch</Button>}
    >
      <LoadedList
        list={list}
        empty={
          <Empty title="No batches yet" action={<Button onClick={dialog.open}>Upload a list</Button>}>
            A CSV file with a column to_number is enough. Every other column becomes a variable for the agent.
          </Empty>
        }
      >
        {(batches) => (
          <DataTable label="Batches" heads={['Batch', 'Status', 'Progress', 'Created']}>
            {batches.map((batch) => (
              <Table.Tr key={batch.batch_call_id}>
                <Table.Td>
                  <Link className="row-link" href={`/batch-calls/${batch.batch_call_id}`}>
                    {batch.name === '' ? batch.batch_call_id.slice(0, 8) : batch.name}
                  </Link>
                </Table.Td>
                <Table.Td>
                  <StateBadge state={batch.status} />
                </Table.Td>
                <Table.Td miw={320}>
                  <BatchProgress batch={batch} />
                </Table.Td>
                <Table.Td>
                  <Text size="sm">{dateTime(batch.created_at)}</Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )}
      </LoadedList>
      <DoNotCall />
      <Modal opened={isOpen} onClose={dialog.close} title="New batch" size="lg" centered>
        <NewBatch onDone={(batch) => go(`/batch-calls/${batch.batch_call_id}`)} />
      </Modal>
    </Page>
  );
}
