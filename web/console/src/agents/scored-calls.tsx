/** The calls behind a rate of a scorecard: those with its tag, or in which its criterion failed. */
import { Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import { useList } from '../api/queries.ts';
import type { ScoredCalls } from '../api/types.ts';
import { dateTime, duration, words } from '../parts/format.ts';
import { LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';
import { criterionOf } from './scorecard-rates.ts';

/** Calls that began from a time on, and before another if there is one. */
interface Range {
  readonly from: string;
  readonly to?: string | null;
}

export function ScoredCallsList({ path, rate, from, to = null }: { path: string; rate: string } & Range) {
  const criterion = criterionOf(rate);
  const list = useList(`${path}/calls`, (page: ScoredCalls) => page.calls, {
    from,
    ...(to === null ? {} : { to }),
    ...(criterion === null ? { tag: rate } : { criterion }),
  });
  return (
    <LoadedList list={list} empty={<Text c="dimmed">None in this period.</Text>}>
      {(rows) => (
        <DataTable label="Calls" heads={['Began', 'Version', 'Length', 'Noticed', 'Ended by']}>
          {rows.map((row) => (
            <Table.Tr key={row.session_id}>
              <Table.Td>
                <Link className="row-link" href={`/calls/${row.session_id}`}>
                  {dateTime(row.created_at)}
                </Link>
              </Table.Td>
              <Table.Td className="tabular">{row.version_number}</Table.Td>
              <Table.Td className="tabular">{duration(row.duration_seconds)}</Table.Td>
              <Table.Td>{row.tags.map(words).join(', ') || '–'}</Table.Td>
              <Table.Td>{row.end_reason === null ? '–' : words(row.end_reason)}</Table.Td>
            </Table.Tr>
          ))}
        </DataTable>
      )}
    </LoadedList>
  );
}
