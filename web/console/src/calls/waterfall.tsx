/**
 * Latency waterfall: the turn that kept the caller waiting longest and why, and for each turn the parts of
 * the time from the end of the caller's speech to the agent's first sound.
 */
import { Group, Stack, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import { milliseconds, seconds, timeOfDay } from '../parts/format.ts';
import { headsOf, Scrollable } from '../parts/table.tsx';
import { longestPart, median, PARTS, SLOW_FROM_MS, slowestTurn, type Turn } from './slowest-turn.ts';

const HEADS = ['Turn', 'Total', 'From end of speech to first sound'] as const;

export function Waterfall({ turns, sessionId }: { turns: readonly Turn[]; sessionId: string }) {
  if (turns.length === 0)
    return (
      <Text c="dimmed">
        No spoken turn was answered. Typed messages are answered at once and have no waterfall.
      </Text>
    );
  const scaleMs = Math.max(...turns.map(({ total_ms }) => total_ms), 1);
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
                <Table.Th key={head} {...(index === 2 ? { w: '78%' } : {})}>
                  {head}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {turns.map((turn) => (
              <TurnRow key={turn.turn_id} turn={turn} sessionId={sessionId} scaleMs={scaleMs} />
            ))}
          </Table.Tbody>
        </Table>
      </Scrollable>
    </Stack>
  );
}

/** Summarises why a call was slow. Empty if no spoken turn was answered. */
export function Verdict({ turns, sessionId }: { turns: readonly Turn[]; sessionId: string }) {
  const slowest = slowestTurn(turns);
  if (!slowest) return null;
  const { turn, part, usualMs } = slowest;
  const isSlow = turn.total_ms >= SLOW_FROM_MS;
  const usual = usualMs === null ? '' : ` In its other turns that took ${milliseconds(usualMs)}.`;
  return (
    <section
      className="card verdict"
      aria-label="Slowest answer"
      style={{ '--speaker': isSlow ? part[2] : 'var(--user)' } as React.CSSProperties}
    >
      <Text fw={600} component="h2">
        {isSlow ? 'The slowest answer took ' : 'Every answer came in time; the slowest took '}
        {seconds(turn.total_ms)} (
        <Link className="text-link" href={`/calls/${sessionId}?turn=${turn.turn_id}`}>
          turn {turn.turn_id}
        </Link>
        )
      </Text>
      <Text>
        {capital(turn.explanation)}.{usual}
        {turns.length > 1 &&
          ` Median of ${turns.length} answers: ` +
            `${milliseconds(median(turns.map(({ total_ms }) => total_ms)))}.`}
      </Text>
    </section>
  );
}

function TurnRow({ turn, sessionId, scaleMs }: { turn: Turn; sessionId: string; scaleMs: number }) {
  const told = PARTS.filter(([name]) => turn[name] > 0).map(
    ([name, label]) => `${label} ${milliseconds(turn[name])}`,
  );
  const isSlow = turn.total_ms >= SLOW_FROM_MS;
  const [longest, , color] = longestPart(turn);
  return (
    <Table.Tr>
      <Table.Td>
        <Link
          className="text-link"
          href={`/calls/${sessionId}?turn=${turn.turn_id}`}
          aria-label={`Turn ${turn.turn_id} in the transcript`}
        >
          {turn.turn_id}
        </Link>
        <Text size="xs" c="dimmed" className="nowrap">
          {timeOfDay(turn.speech_ended_at)}
        </Text>
      </Table.Td>
      <Table.Td className="tabular nowrap" fw={isSlow ? 650 : undefined}>
        {milliseconds(turn.total_ms)}
      </Table.Td>
      <Table.Td>
        <div className="bar" role="img" style={{ width: '100%' }} aria-label={told.join(', ')}>
          {PARTS.map(([name, label, partColor]) => (
            <span
              key={name}
              title={`${label}: ${milliseconds(turn[name])}`}
              data-faint={isSlow && name !== longest}
              style={{ width: `${(turn[name] / scaleMs) * 100}%`, background: partColor }}
            />
          ))}
        </div>
        <Text size="sm" mt={4}>
          {isSlow && (
            <span className="swatch" style={{ background: color, marginInlineEnd: 6 }} aria-hidden />
          )}
          {capital(turn.explanation)}
        </Text>
        <Text size="xs" c="dimmed">
          {told.join(' · ')}
          {turn.speculative ? ' · thought ahead' : ''}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
