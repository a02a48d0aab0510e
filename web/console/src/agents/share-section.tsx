/** The share of calls that another version answers: set, compared with the published one, ended. */
import { Button, Group, NumberInput, Select, Stack, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { Agent, Share, VersionList } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { dateTime, duration, milliseconds, signed } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { Loaded } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';

const REFRESH_MS = 10_000;
const DRAFT = 'draft';
const DEFAULT_PERCENT = 10;

const MEASURES: Readonly<Record<Share['differences'][number]['measure'], string>> = {
  failed: 'Failed',
  unsuccessful: 'Without success',
  slow: 'Slow',
  dead_air: 'Dead air',
  transferred: 'Transferred',
};
const VERDICTS = { higher: 'Real: higher', lower: 'Real: lower', open: 'Not certain yet' } as const;
const ENDS = {
  harm: 'It was stopped, because its version does harm.',
  by_hand: 'It was stopped by hand.',
  published: 'It ended, because another version was published.',
  promoted: 'Its version was published.',
} as const;

type Summary = VersionList['versions'][number];

export function ShareSection({ agent, versions }: { agent: Agent; versions: readonly Summary[] }) {
  const path = `/v1/agent/agents/${agent.agent_id}`;
  const share = useRead<Share | null>(`${path}/share`, {
    unsetReason: 'share_not_set',
    refetchMs: (last) => (last?.status === 'running' ? REFRESH_MS : false),
  });
  return (
    <Section
      title="Share of calls"
      aside={share.data?.status === 'running' && <StateBadge state="running" label="Running" />}
    >
      <Stack>
        <Loaded query={share}>
          {(found) => (
            <>
              {found && <Comparison path={path} share={found} />}
              {found?.status !== 'running' && <NewShare agent={agent} path={path} versions={versions} />}
            </>
          )}
        </Loaded>
      </Stack>
    </Section>
  );
}

/** The published one of these versions, newest first; undefined if it is not among them. */
export function publishedOf(versions: readonly Summary[]): Summary | undefined {
  return versions.find(({ for_share }) => !for_share);
}

function NewShare({ agent, path, versions }: { agent: Agent; path: string; versions: readonly Summary[] }) {
  const published = publishedOf(versions);
  const choices = [
    ...(agent.has_unpublished_changes ? [{ value: DRAFT, label: 'The draft' }] : []),
    ...versions
      .filter((version) => version.config_hash !== published?.config_hash)
      .map(({ version_number, version_title }) => ({
        value: String(version_number),
        label: `Version ${version_number}${version_title ? `: ${version_title}` : ''}`,
      })),
  ];
  const [chosen, setChosen] = useState<string | null>(null);
  const [percent, setPercent] = useState<number>(DEFAULT_PERCENT);
  const version = chosen ?? choices[0]?.value ?? null;
  const begin = useChange(
    () =>
      call('PUT', `${path}/share`, {
        share: percent / 100,
        ...(version === DRAFT ? {} : { version: Number(version) }),
      }),
    { touches: [path], done: 'New callers are split between the two versions' },
  );
  if (choices.length === 0)
    return <Text c="dimmed">Change the draft to try it on a share of the calls before you publish it.</Text>;
  return (
    <Group align="flex-end">
      <Select
        label="Version to try"
        data={choices}
        allowDeselect={false}
        value={version}
        onChange={setChosen}
      />
      <NumberInput
        label="Share of callers"
        suffix=" %"
        min={1}
        max={99}
        value={percent}
        onChange={(value) => setPercent(Number(value) || DEFAULT_PERCENT)}
      />
      <Button loading={begin.isPending} onClick={() => begin.mutate()}>
        Start
      </Button>
    </Group>
  );
}

function Comparison({ path, share }: { path: string; share: Share }) {
  const { arms } = share;
  return (
    <>
      <Text size="sm">{aboutOf(share)}</Text>
      <Text fw={600} role="status">
        {share.summary}
      </Text>
      <DataTable
        label="Versions compared"
        heads={[
          'Measure',
          `Version ${share.version}`,
          `Version ${share.published_version}`,
          'Difference, 99 % interval',
          'Verdict',
        ]}
      >
        <Row name="Calls" ours={arms.share.calls} theirs={arms.published.calls} />
        <Row
          name="Duration"
          ours={duration(arms.share.average_seconds)}
          theirs={duration(arms.published.average_seconds)}
        />
        <Row
          name="Wait, median"
          ours={milliseconds(arms.share.latency.p50_ms)}
          theirs={milliseconds(arms.published.latency.p50_ms)}
        />
        <Row
          name="Wait, p95"
          ours={milliseconds(arms.share.latency.p95_ms)}
          theirs={milliseconds(arms.published.latency.p95_ms)}
        />
        {share.differences.map(({ measure, low, high, verdict }, index) => (
          <Row
            key={measure}
            name={MEASURES[measure]}
            ours={rateOf(arms.share.rates[index])}
            theirs={rateOf(arms.published.rates[index])}
            difference={`${points(low)} to ${points(high)} points`}
            verdict={VERDICTS[verdict]}
          />
        ))}
      </DataTable>
      {share.status === 'running' && <Actions path={path} share={share} />}
    </>
  );
}

function Row({
  name,
  ours,
  theirs,
  difference = '',
  verdict = '',
}: {
  name: string;
  ours: string | number;
  theirs: string | number;
  difference?: string;
  verdict?: string;
}) {
  return (
    <Table.Tr>
      <Table.Td fw={600}>{name}</Table.Td>
      <Table.Td>{ours}</Table.Td>
      <Table.Td>{theirs}</Table.Td>
      <Table.Td>{difference}</Table.Td>
      <Table.Td>{verdict}</Table.Td>
    </Table.Tr>
  );
}

function Actions({ path, share }: { path: string; share: Share }) {
  const touches = [path, '/v1/agent/agents'];
  const promote = useChange(() => call('POST', `${path}/share/promote`), {
    touches,
    done: 'Published: all new calls get this version',
  });
  const stop = useChange(() => call('DELETE', `${path}/share`), {
    touches,
    done: `Stopped: new calls get version ${share.published_version}`,
  });
  return (
    <Group>
      <Button loading={promote.isPending} onClick={() => promote.mutate()}>
        Promote version {share.version}
      </Button>
      <ConfirmButton
        title="Stop the share?"
        text={`New calls get version ${share.published_version}. Live calls go on. The figures stay here.`}
        onConfirm={() => stop.mutate()}
      >
        Stop
      </ConfirmButton>
    </Group>
  );
}

function aboutOf(share: Share): string {
  const { version, published_version: others, started_at, ended_at, end_reason } = share;
  const split = `${percentOf(share.share)} of callers get version ${version}, the others version ${others}.`;
  const end = end_reason ? ` ${ENDS[end_reason]} (${dateTime(ended_at)})` : '';
  return `${split} Begun ${dateTime(started_at)}.${end}`;
}

function rateOf(rate: Share['arms']['share']['rates'][number] | undefined): string {
  if (!rate || rate.rate === null) return '–';
  return `${percentOf(rate.rate)} (${rate.hits} of ${rate.calls})`;
}

function percentOf(share: number): string {
  return `${Number((share * 100).toFixed(1))} %`;
}

/** With a minus sign where it is less. */
function points(share: number): string {
  return signed(share * 100, 1);
}
