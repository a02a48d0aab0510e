/**
 * The conversations around one: what it goes on with, and what went on with it. A person moves from text
 * messages to a call and back; each record names the one before it.
 */
import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { useRead } from '../api/queries.ts';
import type { SessionDetail, SessionList, TextSessionDetail, TextSessionList } from '../api/types.ts';
import { dateTime } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { TEXT_SESSIONS, textSessionPath } from './text-session.tsx';

const CALLS = '/v1/agent/sessions';

/** A conversation before or after. */
interface Neighbour {
  readonly kind: 'call' | 'text';
  readonly id: string;
  readonly at: string;
}

/** Around a call. */
export function AroundCall({ session }: { session: SessionDetail }) {
  const before = useNeighbour(null, session.continued_from ?? null);
  const later = useLaterTexts(session.session_id);
  return <Around before={before} after={later} />;
}

/** Around a text session. */
export function AroundTextSession({ session }: { session: TextSessionDetail }) {
  const { text_session_id: id, continued_from: earlier } = session;
  const before = useNeighbour(earlier, earlier);
  const later = [...useLaterTexts(id), ...useLaterCalls(session)];
  return <Around before={before} after={later} />;
}

function Around({ before, after }: { before: Neighbour | null; after: readonly Neighbour[] }) {
  if (before === null && after.length === 0) return null;
  return (
    <Section title="Before and after">
      <Stack gap={4}>
        {before && <Line neighbour={before}>Before it:</Line>}
        {after
          .toSorted((one, other) => one.at.localeCompare(other.at))
          .map((neighbour) => (
            <Line key={neighbour.id} neighbour={neighbour}>
              After it:
            </Line>
          ))}
      </Stack>
    </Section>
  );
}

function Line({ neighbour: { kind, id, at }, children }: { neighbour: Neighbour; children: ReactNode }) {
  return (
    <Text size="sm">
      {children}{' '}
      <Link className="text-link" href={kind === 'call' ? `/calls/${id}` : `/text-sessions/${id}`}>
        {kind === 'call' ? 'the call' : 'the text session'} of {dateTime(at)}
      </Link>
    </Text>
  );
}

/** The conversation before, which is under one of two addresses; null while it is unknown, or erased. */
function useNeighbour(callId: string | null, textId: string | null): Neighbour | null {
  const call = useRead<SessionDetail>(callId && `${CALLS}/${callId}`);
  const isText = callId === null || call.isError;
  const written = useRead<TextSessionDetail>(isText && textId !== null ? textSessionPath(textId) : null);
  if (call.data)
    return { kind: 'call', id: call.data.session_id, at: call.data.started_at ?? call.data.created_at };
  return written.data
    ? { kind: 'text', id: written.data.text_session_id, at: written.data.created_at }
    : null;
}

function useLaterTexts(id: string): readonly Neighbour[] {
  const list = useRead<TextSessionList>(TEXT_SESSIONS, { query: { continued_from: id } });
  return (list.data?.text_sessions ?? []).map((row) => ({
    kind: 'text',
    id: row.text_session_id,
    at: row.created_at,
  }));
}

/** Calls of the person, of which only some go on with this session. */
function useLaterCalls(session: TextSessionDetail): readonly Neighbour[] {
  const { text_session_id: id, caller_number, agent_id, created_at } = session;
  const list = useRead<SessionList>(caller_number === undefined ? null : CALLS, {
    query: { caller_number, agent_id, created_after: created_at, page_size: 100 },
  });
  return (list.data?.sessions ?? [])
    .filter(({ continued_from }) => continued_from === id)
    .map((row) => ({ kind: 'call', id: row.session_id, at: row.started_at ?? row.created_at }));
}
