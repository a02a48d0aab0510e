/** The scorecard of an agent: each rate by version and over time, the calls behind it, and its alerts. */
import { Button, Group, Stack, Table, Text } from '@mantine/core';
import { useRead } from '../api/queries.ts';
import type { Agent, Scorecard } from '../api/types.ts';
import { useFilters } from '../parts/filters.tsx';
import { percent } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { labelOfInterval, PeriodControl, usePeriod } from '../parts/period.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';
import { AlertRulesSection } from './alert-rules-section.tsx';
import type { EditorProps } from './draft.ts';
import { ScorecardAlertsSection } from './scorecard-alerts.tsx';
import { labelOf, type Rate, rateNames, rateOf } from './scorecard-rates.ts';
import { ScoredCallsList } from './scored-calls.tsx';
import { VersionLines } from './version-lines.tsx';

const REFRESH_MS = 30_000;
const DEFAULT_RATE = 'dead_air';
/** Versions shown beside each other, the newest ones. */
const MOST_VERSIONS = 4;

export function ScorecardTab({ agent, editor }: { agent: Agent; editor: EditorProps }) {
  const state = useFilters(['days', 'rate']);
  const period = usePeriod(state);
  const path = `/v1/agent/agents/${agent.agent_id}/scorecard`;
  const scorecard = useRead<Scorecard>(path, { query: { ...period }, refetchMs: REFRESH_MS });
  const rate = state.filters.rate || DEFAULT_RATE;
  return (
    <Stack>
      <Group justify="space-between">
        <Text c="dimmed" size="sm">
          Ended calls, counted within seconds of their analysis. Choose a rate to see it over time and its
          calls.
        </Text>
        <PeriodControl {...state} />
      </Group>
      <ScorecardAlertsSection path={path} />
      <Loaded query={scorecard}>
        {(found) =>
          found.totals.calls === 0 ? (
            <Empty title="No calls in this period">Choose a longer range, or make a call.</Empty>
          ) : (
            <>
              <Rates scorecard={found} chosen={rate} onChoose={(value) => state.set('rate', value)} />
              <OverTime scorecard={found} rate={rate} />
              <Section title="The calls behind it">
                <ScoredCallsList path={path} rate={rate} from={period.from} />
              </Section>
            </>
          )
        }
      </Loaded>
      <AlertRulesSection {...editor} />
    </Stack>
  );
}

function Rates({
  scorecard: { totals },
  chosen,
  onChoose,
}: {
  scorecard: Scorecard;
  chosen: string;
  onChoose: (rate: string) => void;
}) {
  const versions = totals.versions.slice(0, MOST_VERSIONS);
  return (
    <DataTable
      label="Rates"
      heads={['Rate', 'All', ...versions.map(({ version_number }) => `Version ${version_number}`)]}
    >
      <Table.Tr>
        <Table.Td>Calls</Table.Td>
        {[totals, ...versions].map(({ calls }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the columns have a fixed order.
          <Table.Td key={index} className="tabular">
            {calls}
          </Table.Td>
        ))}
      </Table.Tr>
      {rateNames(totals).map(({ name, label }) => (
        <Table.Tr key={name} aria-selected={name === chosen}>
          <Table.Td>
            <Button
              variant={name === chosen ? 'light' : 'subtle'}
              size="compact-sm"
              aria-pressed={name === chosen}
              onClick={() => onChoose(name)}
            >
              {label}
            </Button>
          </Table.Td>
          {[totals, ...versions].map((sums, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the columns have a fixed order.
            <Table.Td key={index} className="tabular">
              <RateCell rate={rateOf(sums, name)} />
            </Table.Td>
          ))}
        </Table.Tr>
      ))}
    </DataTable>
  );
}

function RateCell({ rate }: { rate: Rate | null }) {
  if (!rate || rate.rate === null) return <>–</>;
  return (
    <>
      {percent(rate.rate)}{' '}
      <Text span size="xs" c="dimmed" className="nowrap">
        {percent(rate.low)} to {percent(rate.high)}
      </Text>
    </>
  );
}

function OverTime({
  scorecard: { buckets, interval, totals },
  rate,
}: {
  scorecard: Scorecard;
  rate: string;
}) {
  const versions = totals.versions.slice(0, MOST_VERSIONS).map(({ version_number }) => version_number);
  const rows = buckets.map((bucket) => ({
    at: labelOfInterval(bucket.start, interval),
    figures: versions.map((version) => {
      const sums = bucket.versions.find(({ version_number }) => version_number === version);
      const share = sums ? (rateOf(sums, rate)?.rate ?? null) : null;
      return [version, share === null ? null : Math.round(share * 1_000) / 10] as const;
    }),
  }));
  return (
    <Section title={`${labelOf(rate)} over time, % of calls`}>
      <VersionLines h={220} withLegend yAxisProps={{ domain: [0, 'auto'] }} versions={versions} rows={rows} />
    </Section>
  );
}
