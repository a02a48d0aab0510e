/** Call statistics over time: number, duration, cost, response times and end reasons. */
import '@mantine/charts/styles.css';
import { BarChart, LineChart } from '@mantine/charts';
import { Alert, Select, SimpleGrid, Table } from '@mantine/core';
import { Link } from 'wouter';
import { useRead } from '../api/queries.ts';
import type { Agent, Analytics } from '../api/types.ts';
import { useFilters } from '../parts/filters.tsx';
import { dollars, duration, milliseconds, percent, words } from '../parts/format.ts';
import { Page, Section } from '../parts/page.tsx';
import { labelOfInterval, PeriodControl, usePeriod } from '../parts/period.tsx';
import { StatGrid } from '../parts/stat.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';

const COLORS = [
  'indigo.5',
  'teal.6',
  'orange.5',
  'red.6',
  'grape.5',
  'cyan.6',
  'lime.6',
  'pink.5',
  'yellow.6',
  'blue.4',
  'gray.5',
];

export default function AnalyticsPage() {
  const state = useFilters(['days', 'agent_id']);
  const { filters, set } = state;
  const period = usePeriod(state);
  const agents = useRead<{ agents: Agent[] }>('/v1/agent/agents', { query: { page_size: 100 } });
  const analytics = useRead<Analytics>('/v1/agent/analytics', {
    query: { ...period, agent_id: filters.agent_id },
    refetchMs: 60_000,
  });
  return (
    <Page
      title="Analytics"
      intro="By day (UTC) or by hour."
      actions={
        <>
          <Select
            aria-label="Agent"
            placeholder="All agents"
            clearable
            searchable
            w={180}
            data={agents.data?.agents.map(({ agent_id, name }) => ({ value: agent_id, label: name })) ?? []}
            value={filters.agent_id || null}
            onChange={(value) => set('agent_id', value)}
          />
          <PeriodControl {...state} />
        </>
      }
    >
      <Loaded query={analytics}>{(found) => <Figures analytics={found} />}</Loaded>
    </Page>
  );
}

function Figures({ analytics }: { analytics: Analytics }) {
  const { totals, agents } = analytics;
  if (totals.calls === 0)
    return <Empty title="No calls in this period">Choose a longer range, or another agent.</Empty>;
  return (
    <>
      {analytics.truncated && (
        <Alert color="yellow" variant="outline">
          There were so many calls that only the newest 50 000 are counted. Choose a shorter range.
        </Alert>
      )}
      <StatGrid
        stats={[
          { label: 'Calls', value: String(totals.calls), hint: `${totals.live} running now` },
          { label: 'Answer rate', value: percent(totals.answer_rate), hint: `${totals.answered} connected` },
          {
            label: 'Average length',
            value: duration(totals.average_seconds),
            hint: `${duration(totals.total_seconds)} in total`,
          },
          {
            label: 'Median response',
            value: milliseconds(totals.latency.p50_ms),
            hint:
              `95 % within ${milliseconds(totals.latency.p95_ms)}, 99 % within ` +
              `${milliseconds(totals.latency.p99_ms)}`,
          },
          {
            label: 'Cost',
            value: dollars(totals.cost),
            hint: totals.latency.turns === 1 ? '1 turn' : `${totals.latency.turns} turns`,
          },
        ]}
      />
      <Charts analytics={analytics} />
      <DataTable
        label="Agents"
        heads={['Agent', 'Calls', 'Answer rate', 'Average length', 'Median response', 'Cost']}
      >
        {agents.map((agent) => (
          <Table.Tr key={agent.agent_id}>
            <Table.Td>
              <Link className="row-link" href={`/calls?agent_id=${agent.agent_id}`}>
                {agent.agent_name}
              </Link>
            </Table.Td>
            <Table.Td className="tabular">{agent.calls}</Table.Td>
            <Table.Td className="tabular">{percent(agent.answer_rate)}</Table.Td>
            <Table.Td className="tabular">{duration(agent.average_seconds)}</Table.Td>
            <Table.Td className="tabular">{milliseconds(agent.latency.p50_ms)}</Table.Td>
            <Table.Td className="tabular">{dollars(agent.cost)}</Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
    </>
  );
}

function Charts({ analytics: { buckets, interval, totals } }: { analytics: Analytics }) {
  const reasons = Object.keys(totals.end_reasons);
  const rows = buckets.map((bucket) => ({
    at: labelOfInterval(bucket.start, interval),
    Connected: bucket.answered,
    'Not connected': bucket.calls - bucket.answered,
    Minutes: Math.round(bucket.total_seconds / 6) / 10,
    Dollars: Number(bucket.cost),
    Median: bucket.latency.p50_ms,
    '95 %': bucket.latency.p95_ms,
    ...Object.fromEntries(reasons.map((reason) => [words(reason), bucket.end_reasons[reason] ?? 0])),
  }));
  const shared = {
    h: 220,
    data: rows,
    dataKey: 'at',
    withLegend: true,
    textColor: 'var(--mantine-color-dimmed)',
    gridAxis: 'x',
  } as const;
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Section title="Calls">
        <BarChart
          {...shared}
          type="stacked"
          series={[
            { name: 'Connected', color: 'indigo.5' },
            { name: 'Not connected', color: 'orange.5' },
          ]}
        />
      </Section>
      <Section title="Why they ended">
        <BarChart
          {...shared}
          type="stacked"
          series={reasons.map((reason, index) => ({
            name: words(reason),
            color: COLORS[index % COLORS.length] ?? 'gray.5',
          }))}
        />
      </Section>
      <Section title="Response, ms">
        <LineChart
          {...shared}
          connectNulls
          series={[
            { name: 'Median', color: 'indigo.5' },
            { name: '95 %', color: 'orange.5' },
          ]}
        />
      </Section>
      <Section title="Minutes and dollars">
        <BarChart
          {...shared}
          withRightYAxis
          series={[
            { name: 'Minutes', color: 'teal.6' },
            { name: 'Dollars', color: 'grape.5', yAxisId: 'right' },
          ]}
        />
      </Section>
    </SimpleGrid>
  );
}
