/** Rehearsing: runs the last calls again under the saved draft, and shows what would have been different. */
import { Alert, Button, Group, Modal, Progress, Stack, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { Link } from 'wouter';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { Agent, Rehearsal } from '../api/types.ts';
import { pathOfMoment } from '../calls/linked-moment.ts';
import {
  dollars,
  milliseconds,
  percent,
  seconds,
  signed,
  signedTime,
  withInterval,
  words,
} from '../parts/format.ts';
import { Loaded } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';
import { CannotKnow } from './cannot-know.tsx';
import { JudgedTurns, JudgeOptions, type MostCost } from './rehearse-judge.tsx';

const REFRESH_MS = 1_000;

type Figures = Rehearsal['result']['all'];
type Estimate = Figures['differing_share'];

export function RehearseButton({ agent, isDirty }: { agent: Agent; isDirty: boolean }) {
  const [isOpen, dialog] = useDisclosure(false);
  const [id, setId] = useState<string | null>(null);
  const path = `/v1/agent/agents/${agent.agent_id}/rehearsals`;
  const open = () => {
    setId(null);
    dialog.open();
  };
  return (
    <>
      <Button
        variant="default"
        disabled={isDirty}
        title={isDirty ? 'Save the draft first' : undefined}
        onClick={open}
      >
        Rehearse…
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title={`Rehearsal of ${agent.name}`} size="xl" centered>
        {isOpen && (id === null ? <Start path={path} onStart={setId} /> : <Result path={`${path}/${id}`} />)}
      </Modal>
    </>
  );
}

/** Says what a rehearsal is, and what its judge would cost. */
function Start({ path, onStart }: { path: string; onStart: (id: string) => void }) {
  const [cost, setCost] = useState<MostCost>(null);
  const body = cost === null ? {} : { judge: { max_cost: cost.toFixed(2) } };
  const start = useChange(() => call<Rehearsal>('POST', path, body), {
    touches: [path],
    onDone: ({ rehearsal_id }) => onStart(rehearsal_id),
  });
  return (
    <Stack>
      <Text size="sm">
        Runs the calls of the last 30 days again under the saved draft. Nothing changes, and without a judge
        nothing is charged.
      </Text>
      <JudgeOptions path={path} cost={cost} onChange={setCost} />
      <Group justify="flex-end">
        <Button loading={start.isPending} onClick={() => start.mutate()}>
          {cost === null ? 'Rehearse' : `Rehearse for at most ${dollars(cost.toFixed(2))}`}
        </Button>
      </Group>
    </Stack>
  );
}

function Result({ path }: { path: string }) {
  const rehearsal = useRead<Rehearsal>(path, {
    refetchMs: (last) => (last === undefined || last.status === 'running' ? REFRESH_MS : false),
  });
  return (
    <Loaded query={rehearsal}>
      {(record) => (
        <Stack>
          <Text size="sm">
            The calls of the last 30 days run again under the saved draft. Nothing changes.
          </Text>
          <Scope record={record} />
          {record.judged && <JudgedTurns judged={record.judged} />}
          {record.result.all.calls > 0 && (
            <>
              <AllFigures all={record.result.all} />
              <Groups label={`By hour (${record.timezone})`} groups={record.result.by_hour} />
              <Groups label="By language" groups={record.result.by_language} />
              <Groups label="By number" groups={record.result.by_number} />
              <ToListen calls={record.result.to_listen} />
            </>
          )}
          <CannotKnow lines={unknownOf(record)} />
        </Stack>
      )}
    </Loaded>
  );
}

/** How far it is, and what the figures leave out. */
function Scope({ record }: { record: Rehearsal }) {
  const { calls_looked_at, calls_wanted, left_out, not_judged, result, status } = record;
  const missing = left_out.no_log + left_out.other_version + left_out.unreadable;
  return (
    <>
      {status === 'running' && (
        <Progress value={(100 * calls_looked_at) / Math.max(1, calls_wanted)} aria-label="Progress" />
      )}
      <Text size="sm" role="status">
        {status === 'running' ? 'So far: ' : ''}
        {countOf(result.all.calls)} rehearsed, {missing} left out ({left_out.no_log} without a whole log,{' '}
        {left_out.other_version} of another version, {left_out.unreadable} unreadable).
      </Text>
      {status === 'failed' && (
        <Alert color="red" variant="outline" role="alert">
          {record.error}
        </Alert>
      )}
      {not_judged.length > 0 && (
        <Alert color="yellow" variant="outline">
          Not judged{record.judged ? ' but by turns' : ''}, although the draft changes it:{' '}
          {not_judged.join(', ')}. Calls may differ sooner than this says.
        </Alert>
      )}
    </>
  );
}

function AllFigures({ all }: { all: Figures }) {
  const { cut_offs, waiting } = all;
  const actions = [
    ['Hold lines', all.hold_lines],
    ['Interruptions', all.interruptions],
    ['Keys', all.keys],
    ['Transfers', all.transfers],
  ] as const;
  return (
    <DataTable label="Figures" heads={['Figure', 'Value', '95 % interval']}>
      <Row name="Calls that would differ" value={all.differing} interval={shares(all.differing_share)} />
      {Object.entries(all.first_differences)
        .filter(([, calls]) => calls > 0)
        .map(([kind, calls]) => (
          <Row key={kind} name={`First: ${words(kind)}`} value={calls} interval="" />
        ))}
      <Row name="Callers newly cut off" value={cut_offs.caused} interval={shares(cut_offs.caused_share)} />
      <Row name="Callers spared" value={cut_offs.spared} interval={shares(cut_offs.spared_share)} />
      <Row name="Perhaps cut off: unknown" value={cut_offs.unknown} interval="" />
      <Row
        name="Waiting saved, and in a turn"
        value={signedTime(waiting.saved_total_ms, seconds)}
        interval={withInterval(waiting.saved_ms_per_turn, (ms) => signedTime(ms, milliseconds))}
      />
      {actions.map(([name, { was, would_be, change }]) => (
        <Row
          key={name}
          name={`${name}, up to there`}
          value={`${was} → ${would_be}`}
          interval={`${withInterval(change, (more) => signed(more, 2))} in a call`}
        />
      ))}
    </DataTable>
  );
}

function Row({ name, value, interval }: { name: string; value: string | number; interval: string }) {
  return (
    <Table.Tr>
      <Table.Td>{name}</Table.Td>
      <Table.Td className="tabular">{value}</Table.Td>
      <Table.Td className="tabular">{interval}</Table.Td>
    </Table.Tr>
  );
}

function Groups({ label, groups }: { label: string; groups: Rehearsal['result']['by_hour'] }) {
  if (groups.length < 2) return null;
  return (
    <DataTable label={label} heads={[label, 'Calls', 'Differ', 'Newly cut off', 'Saved in a turn']}>
      {groups.map(({ name, calls, differing_share, cut_offs, waiting }) => (
        <Table.Tr key={name}>
          <Table.Td>{name}</Table.Td>
          <Table.Td className="tabular">{calls}</Table.Td>
          <Table.Td className="tabular">{shares(differing_share)}</Table.Td>
          <Table.Td className="tabular">{shares(cut_offs.caused_share)}</Table.Td>
          <Table.Td className="tabular">
            {withInterval(waiting.saved_ms_per_turn, (ms) => signedTime(ms, milliseconds))}
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

function ToListen({ calls }: { calls: Rehearsal['result']['to_listen'] }) {
  if (calls.length === 0) return null;
  return (
    <DataTable label="To listen to" heads={['To listen to', 'At', 'Call']}>
      {calls.map(({ session_id, why, second }) => (
        <Table.Tr key={session_id}>
          <Table.Td>{words(why)}</Table.Td>
          <Table.Td className="tabular">{second === null ? '–' : `${second.toFixed(1)} s`}</Table.Td>
          <Table.Td>
            <Link href={pathOfMoment(session_id, second)}>{session_id}</Link>
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

function unknownOf({ judged }: Rehearsal): string[] {
  return [
    'what happens beyond the first difference of a call: the facts there belong to another call',
    judged
      ? 'what the caller would have said after another answer: each turn is judged alone'
      : 'what another prompt, model, voice, tool or knowledge would have said',
    'whether a caller who had heard the agent would have gone on by themselves',
  ];
}

function shares(estimate: Estimate): string {
  return withInterval(estimate, percent);
}

function countOf(calls: number): string {
  return calls === 1 ? '1 call' : `${calls.toLocaleString('en-US')} calls`;
}
