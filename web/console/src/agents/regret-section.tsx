/**
 * Regret: what an agent’s callers waited needlessly and who was cut off, over time and by version; and the
 * learner that tunes its waits.
 */
import { Button, Group, NumberInput, Stack, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { Agent, Learning, Regret } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { dateTime, milliseconds, percent, withInterval } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { Loaded } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';
import { RegretPlot } from './regret-plot.tsx';

const REFRESH_MS = 60_000;
const DEFAULT_BOUND = 5;
/** Entries of the history that are shown. */
const SHOWN = 10;

type Figures = Regret['all'];

export function RegretSection({ agent }: { readonly agent: Agent }) {
  const path = `/v1/agent/agents/${agent.agent_id}`;
  const regret = useRead<Regret>(`${path}/regret`, { refetchMs: REFRESH_MS });
  const learning = useRead<Learning | null>(`${path}/learning`, {
    unsetReason: 'learning_not_set',
    refetchMs: REFRESH_MS,
  });
  return (
    <Section title="Regret and learning" aside={learning.data && <State learning={learning.data} />}>
      <Stack>
        <Text size="sm" c="dimmed">
          Afterwards it is known when each turn really ended. The figures say what the callers of the last 30
          days waited beyond that, and how many were cut off.
        </Text>
        <Loaded query={regret}>{(found) => <Measured regret={found} />}</Loaded>
        <Loaded query={learning}>
          {(found) =>
            found ? (
              <Learner path={path} learning={found} />
            ) : (
              agent.publication_state === 'live' && <NewLearner path={path} />
            )
          }
        </Loaded>
      </Stack>
    </Section>
  );
}

function State({ learning }: { readonly learning: Learning }) {
  return learning.status === 'paused' ? (
    <StateBadge state="warning" label="Paused" />
  ) : (
    <StateBadge state="running" label="Learning" />
  );
}

function Measured({ regret }: { readonly regret: Regret }) {
  if (regret.all.turns === 0)
    return <Text size="sm">No call is measured yet. Ended calls with a flight log are, within minutes.</Text>;
  return (
    <>
      <RegretPlot regret={regret} />
      <DataTable
        label="Regret by version"
        heads={['Version', 'Calls', 'Turns', 'Needless wait', 'Cut off in 100 turns', 'At most', 'Unknown']}
      >
        {regret.by_version.map((one) => (
          <Row key={one.version_number} name={`Version ${one.version_number}`} figures={one} />
        ))}
        {regret.by_version.length > 1 && <Row name="All" figures={regret.all} />}
      </DataTable>
      <Text size="sm" c="dimmed">
        Unknown are turns whose answer was heard before it was certain that the caller would not go on; “at
        most” counts all of them as cut off.
      </Text>
    </>
  );
}

function Row({ name, figures }: { readonly name: string; readonly figures: Figures }) {
  const { calls, turns, needless_wait_ms, cut_offs, most_cut_offs, unknown_share } = figures;
  return (
    <Table.Tr>
      <Table.Td fw={600}>{name}</Table.Td>
      <Table.Td className="tabular">{calls}</Table.Td>
      <Table.Td className="tabular">{turns}</Table.Td>
      <Table.Td className="tabular">{milliseconds(needless_wait_ms.value)}</Table.Td>
      <Table.Td className="tabular">{withInterval(cut_offs, tenths)}</Table.Td>
      <Table.Td className="tabular">{tenths(most_cut_offs.value)}</Table.Td>
      <Table.Td className="tabular">{percent(unknown_share)}</Table.Td>
    </Table.Tr>
  );
}

function tenths(value: number): string {
  return value.toFixed(1);
}

function NewLearner({ path }: { readonly path: string }) {
  const [bound, setBound] = useState<number>(DEFAULT_BOUND);
  const begin = useChange(() => call('PUT', `${path}/learning`, { cut_off_bound: bound }), {
    touches: [path],
    done: 'It learns from now on, on 5 % of the callers',
  });
  return (
    <Group align="flex-end">
      <NumberInput
        label="Callers cut off in 100 turns, at most"
        min={0.5}
        max={50}
        decimalScale={1}
        value={bound}
        onChange={(value) => setBound(Number(value) || DEFAULT_BOUND)}
      />
      <ConfirmButton
        loading={begin.isPending}
        title="Let the agent learn its waits?"
        text={
          'Other waits and eagerness are judged on ended calls, given to 5 % of the callers, and published ' +
          'by themselves if they keep the bound. Whatever you publish or change yourself pauses it.'
        }
        onConfirm={() => begin.mutate()}
      >
        Let it learn
      </ConfirmButton>
    </Group>
  );
}

function Learner({ path, learning }: { readonly path: string; readonly learning: Learning }) {
  const { cut_off_bound, eagerness, wait_min_ms, wait_max_ms, share, status, why, history } = learning;
  const rules = { cut_off_bound, eagerness, wait_min_ms, wait_max_ms, share };
  const touches = [path];
  const resume = useChange(() => call('PUT', `${path}/learning`, rules), {
    touches,
    done: 'It goes on from the published version',
  });
  const end = useChange(() => call('DELETE', `${path}/learning`), {
    touches,
    done: 'Learning has ended; the published version stays',
  });
  return (
    <>
      <Text size="sm">
        Between {milliseconds(wait_min_ms)} and {milliseconds(wait_max_ms)}, at most {cut_off_bound} callers
        cut off in 100 turns, tried on {percent(share)} of the callers.
      </Text>
      <Text fw={600} role="status">
        {why}
      </Text>
      <Group>
        {status === 'paused' && (
          <Button loading={resume.isPending} onClick={() => resume.mutate()}>
            Go on
          </Button>
        )}
        <ConfirmButton
          title="End learning?"
          text="A share that it has set is stopped. The published version stays as it is."
          onConfirm={() => end.mutate()}
        >
          End learning
        </ConfirmButton>
      </Group>
      <DataTable label="What it has done" heads={['When', 'Step', 'Why']}>
        {history.slice(0, SHOWN).map((entry) => (
          <Table.Tr key={entry.at + entry.did}>
            <Table.Td>{dateTime(entry.at)}</Table.Td>
            <Table.Td>{entry.did}</Table.Td>
            <Table.Td>{entry.why}</Table.Td>
          </Table.Tr>
        ))}
      </DataTable>
    </>
  );
}
