/** The wallet: credit, the account's caps, and all ledger entries. */
import { Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import { useList, useRead } from '../api/queries.ts';
import type { Account, Ledger, Wallet } from '../api/types.ts';
import { dateTime, dollars, signedDollars, wholeCents } from '../parts/format.ts';
import { Page } from '../parts/page.tsx';
import { StatGrid } from '../parts/stat.tsx';
import { Empty, Loaded, LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';

const KINDS: Readonly<Record<string, string>> = {
  top_up: 'Credit added',
  hold: 'First minute of a call',
  settle: 'Unused part of the first minute, given back',
  refund: 'Given back',
  void: 'Not charged',
  adjust: 'Adjusted',
};

/** Purpose of an entry; only call entries have a session. */
function kindOf({ kind, reference, session_id, amount }: Ledger['entries'][number]): string {
  if (kind === 'hold' && session_id === null)
    return reference?.startsWith('n:') ? 'Phone number for a day' : 'Charged';
  if (kind === 'settle' && amount.startsWith('-')) return 'Rest of a call';
  return KINDS[kind] ?? kind;
}

export default function WalletPage() {
  const wallet = useRead<Wallet>('/wallet/self/api-credit');
  const account = useRead<Account>('/v1/account');
  const list = useList<Ledger, Ledger['entries'][number]>('/wallet/self/ledger', (answer) => answer.entries);
  return (
    <Page
      title="Wallet"
      intro={
        'Your credit, limits and spending. The first minute of a call is charged when it begins; when it ' +
        'ends, the rest is charged or given back. The limits of a single agent are on its page, under Access.'
      }
    >
      <Loaded query={wallet}>
        {({ credit, cumulative_top_up }) => (
          <StatGrid
            stats={[
              {
                label: 'Credit',
                value: wholeCents(credit),
                hint:
                  Number(credit) < 1
                    ? 'Running low: without credit calls are refused'
                    : 'Calls continue while it lasts',
              },
              {
                label: 'Added so far',
                value: wholeCents(cumulative_top_up),
                hint: 'Starting credit included',
              },
              {
                label: 'Daily cap',
                value: account.data?.daily_cap ? dollars(account.data.daily_cap) : 'None',
                hint: 'Of the whole account, set by the operator',
              },
              {
                label: 'Concurrent calls',
                value: account.data?.concurrent_calls?.toString() ?? 'No limit',
                hint: 'Of the whole account, set by the operator',
              },
            ]}
          />
        )}
      </Loaded>
      <LoadedList list={list} empty={<Empty title="No entries yet" />}>
        {(entries) => (
          <DataTable label="Ledger" heads={['When', 'Purpose', 'Amount', 'Balance after']}>
            {entries.map((entry) => (
              <Table.Tr key={entry.seq}>
                <Table.Td>{dateTime(entry.created_at)}</Table.Td>
                <Table.Td>
                  {kindOf(entry)}{' '}
                  {entry.session_id === null ? (
                    <Text component="span" className="mono" c="dimmed">
                      {entry.reference}
                    </Text>
                  ) : (
                    <Link className="text-link" href={`/calls/${entry.session_id}`}>
                      open the call
                    </Link>
                  )}
                </Table.Td>
                <Table.Td className="tabular">{signedDollars(entry.amount)}</Table.Td>
                <Table.Td className="tabular">{dollars(entry.balance)}</Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )}
      </LoadedList>
    </Page>
  );
}
