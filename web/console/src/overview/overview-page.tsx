/** The first page: the last seven days, running calls and the most recent calls. */
import { Button, SimpleGrid, Text } from '@mantine/core';
import { Link } from 'wouter';
import type { SessionRow } from '../api/live-events.ts';
import { useList, useRead } from '../api/queries.ts';
import type { Analytics, SessionList, Wallet } from '../api/types.ts';
import { CallsTable } from '../calls/calls-table.tsx';
import { dollars, duration, milliseconds, percent } from '../parts/format.ts';
import { Page } from '../parts/page.tsx';
import { StatGrid } from '../parts/stat.tsx';
import { Empty, Loaded, LoadedList } from '../parts/states.tsx';
import { LetItHear } from '../speech-models/let-it-hear.tsx';

export default function OverviewPage() {
  const week = useRead<Analytics>('/v1/agent/analytics', { refetchMs: 60_000 });
  const wallet = useRead<Wallet>('/wallet/self/api-credit');
  return (
    <Page title="Overview" intro="The last seven days, and current calls.">
      <LetItHear />
      <Loaded query={week}>
        {({ totals }) => (
          <StatGrid
            stats={[
              { label: 'Calls', value: String(totals.calls), hint: `${totals.live} running now` },
              {
                label: 'Answer rate',
                value: percent(totals.answer_rate),
                hint: `${totals.answered} connected`,
              },
              {
                label: 'Average length',
                value: duration(totals.average_seconds),
                hint: `${duration(totals.total_seconds)} in total`,
              },
              {
                label: 'Median response',
                value: milliseconds(totals.latency.p50_ms),
                hint: `95 % within ${milliseconds(totals.latency.p95_ms)}`,
              },
              {
                label: 'Cost',
                value: dollars(totals.cost),
                hint: wallet.data ? `${dollars(wallet.data.credit)} credit left` : '',
              },
            ]}
          />
        )}
      </Loaded>
      <Running />
      <Recent />
    </Page>
  );
}

function Running() {
  const list = useList<SessionList, SessionRow>('/v1/agent/sessions', (answer) => answer.sessions, {
    status: 'active,unknown',
    page_size: 20,
  });
  if (list.rows?.length === 0)
    return <Text c="dimmed">No calls in progress. They appear here as soon as they are answered.</Text>;
  return (
    <SimpleGrid cols={1} spacing="sm">
      <Text fw={600} component="h2">
        Running now
      </Text>
      <LoadedList list={list} empty={null}>
        {(rows) => <CallsTable rows={rows} label="Running calls" />}
      </LoadedList>
    </SimpleGrid>
  );
}

function Recent() {
  const list = useList<SessionList, SessionRow>('/v1/agent/sessions', (answer) => answer.sessions, {
    status: 'completed,failed',
    page_size: 8,
  });
  return (
    <SimpleGrid cols={1} spacing="sm">
      <Text fw={600} component="h2">
        Latest calls
      </Text>
      <LoadedList
        list={{ ...list, hasNextPage: false }}
        empty={
          <Empty
            title="No calls yet"
            action={
              <Button component={Link} href="/agents">
                Open an agent
              </Button>
            }
          >
            Test an agent in the browser, phone its number or embed it in a page: what was said, how fast, and
            why it ended appears here.
          </Empty>
        }
      >
        {(rows) => <CallsTable rows={rows} label="Latest calls" />}
      </LoadedList>
    </SimpleGrid>
  );
}
