/** Rows of a batch in list order, page by page, with results and links to the calls. */
import { Button, Group, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { Link } from 'wouter';
import { useRead } from '../api/queries.ts';
import type { BatchRowList } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { dateTime } from '../parts/format.ts';
import { Empty, Loaded } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';

type Row = BatchRowList['rows'][number];

const PAGE_SIZE = 50;

/** Shows one page at a time, because running batches are reloaded repeatedly. */
export function BatchRows({
  batchId,
  state,
  refetchMs,
}: {
  batchId: string;
  state: string | null;
  refetchMs: number | false;
}) {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [shown, setShown] = useState(state);
  if (shown !== state) {
    setShown(state);
    setCursors([]);
  }
  const query = { page_size: PAGE_SIZE, state, cursor: cursors.at(-1) };
  const page = useRead<BatchRowList>(`/v1/agent/batch-calls/${batchId}/rows`, { query, refetchMs });
  return (
    <Loaded query={page}>
      {({ rows, next_cursor }) => (
        <>
          {rows.length === 0 ? <Empty title="No numbers in this state" /> : <Rows rows={rows} />}
          <Group justify="center">
            {cursors.length > 0 && (
              <Button variant="default" onClick={() => setCursors(cursors.slice(0, -1))}>
                Earlier numbers
              </Button>
            )}
            {next_cursor !== null && (
              <Button variant="default" onClick={() => setCursors([...cursors, next_cursor])}>
                Next numbers
              </Button>
            )}
          </Group>
        </>
      )}
    </Loaded>
  );
}

function Rows({ rows }: { rows: readonly Row[] }) {
  return (
    <DataTable label="Numbers" heads={['Line', 'Number', 'State', 'Calls', 'Next', 'Note']}>
      {rows.map((row) => (
        <Table.Tr key={row.row_id}>
          <Table.Td className="tabular">{row.line}</Table.Td>
          <Table.Td className="tabular">
            {row.session_id === null ? (
              row.to_number
            ) : (
              <Link className="row-link" href={`/calls/${row.session_id}`}>
                {row.to_number}
              </Link>
            )}
          </Table.Td>
          <Table.Td>
            <StateBadge state={row.state} />
          </Table.Td>
          <Table.Td className="tabular">{row.attempts.length + (row.state === 'calling' ? 1 : 0)}</Table.Td>
          <Table.Td>{row.attempts.length > 0 ? dateTime(row.next_at) : '–'}</Table.Td>
          <Table.Td>
            <Text size="sm">{row.error ?? (row.opted_out ? 'Opted out' : '')}</Text>
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}
