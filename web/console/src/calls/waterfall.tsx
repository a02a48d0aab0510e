/** The latency waterfall: of each turn, what the time from the caller's end of speech to the agent's first sound was spent on. */
import { Group, Stack, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import type { SessionDetail } from '../api/types.ts';
import { milliseconds, timeOfDay, words } from '../parts/format.ts';
import { headsOf, Scrollable } from '../parts/table.tsx';

type Turn = SessionDetail['turns'][number];

/** Parts of a turn in their order, each explained, with a colour that keeps apart from its neighbours in both schemes. */
const PARTS = [
  ['endpoint_ms', 'Waited for the caller to go on', '#94a3b8'],
  ['transcript_ms', 'Recogniser', '#0d9488'],
  ['first_token_ms', 'Model’s first word', '#6366f1'],
  ['first_sentence_ms', 'First sentence', '#a78bfa'],
  ['first_audio_ms', 'Voice', '#f59e0b'],
  ['playout_ms', 'On the line', '#ef4444'],
] as const;

const HEADS = ['Turn', 'From end of speech to first sound', 'Total', 'Decided by'] as const;

export function Waterfall({ turns, sessionId }: { turns: readonly Turn[]; sessionId: string }) {
  if (turns.length === 0) return <Text c="dimmed">No spoken turn was answered. What is typed is answered at once and has no waterfall.</Text>;
  const slowest = Math.max(...turns.map(({ total_ms }) => total_ms), 1);
  return (
    <Stack>
      <Group gap="md">
        {PARTS.map(([name, label, color]) => (
          <Group key={name} gap={6}>
            <span className="swatch" style={{ background: color }} aria-hidden />
            <Text size="sm">{label}</Text>
          </Group>
        ))}
      </Group>
      <Scrollable label="Turns">
        <Table className="stacked" style={headsOf(HEADS)} verticalSpacing="xs">
          <Table.Thead>
            <Table.Tr>
              {HEADS.map((head, index) => (
                <Table.Th key={head} {...(index === 1 ? { w: '55%' } : {})}>
                  {head}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {turns.map((turn) => (
              <TurnRow key={turn.turn_id} turn={turn} sessionId={sessionId} slowest={slowest} />
            ))}
          </Table.Tbody>
        </Table>
      </Scrollable>
    </Stack>
  );
}

function TurnRow({ turn, sessionId, slowest }: { turn: Turn; sessionId: string; slowest: number }) {
  const told = PARTS.filter(([name]) => turn[name] > 0).map(([name, label]) => `${label} ${milliseconds(turn[name])}`);
  return (
    <Table.Tr>
      <Table.Td>
        <Link className="text-link" href={`/calls/${sessionId}?turn=${turn.turn_id}`} aria-label={`Turn ${turn.turn_id} in the transcript`}>
          {turn.turn_id}
        </Link>
        <Text size="xs" c="dimmed">
          {timeOfDay(turn.speech_ended_at)}
        </Text>
      </Table.Td>
      <Table.Td>
        <div className="bar" role="img" style={{ width: '100%' }} aria-label={told.join(', ')}>
          {PARTS.map(([name, label, color]) => (
            <span
              key={name}
              title={`${label}: ${milliseconds(turn[name])}`}
              style={{ width: `${(turn[name] / slowest) * 100}%`, background: color }}
            />
          ))}
        </div>
        <Text size="xs" c="dimmed" mt={2}>
          {told.join(' · ')}
        </Text>
      </Table.Td>
      <Table.Td className="tabular">{milliseconds(turn.total_ms)}</Table.Td>
      <Table.Td>
        <Text size="sm" c="dimmed">
          {words(turn.endpoint_rule)}
          {turn.speculative ? ', thought ahead' : ''}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}
