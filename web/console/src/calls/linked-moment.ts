/**
 * Links into a call: `?turn=2` points to the caller's speech in that turn, `?t=83.5` to that second after the
 * start of the call.
 */
import type { SessionDetail } from '../api/types.ts';

type Item = SessionDetail['items'][number];
type SpokenTurn = Pick<SessionDetail['turns'][number], 'turn_id' | 'speech_ended_at'>;

/** Typical speech rate, words a second. */
const WORDS_PER_SECOND = 2.5;

/**
 * When an item began to be heard, wall time in ms. Caller speech is located by the end of speech of its turn.
 */
export function startOf(item: Item, session: { readonly turns: readonly SpokenTurn[] }): number {
  const at = Date.parse(item.created_at);
  if (item.type !== 'message' || item.role !== 'user') return at;
  const turn = session.turns.find(({ turn_id }) => turn_id === item.turn_id);
  return (
    (turn ? Date.parse(turn.speech_ended_at) : at) -
    (item.content.split(/\s+/).length / WORDS_PER_SECOND) * 1_000
  );
}

/** The moment an address points to, wall time in ms. Null if it names no moment, or one outside the call. */
export function linkedMoment(search: URLSearchParams, session: SessionDetail): number | null {
  const [turn, seconds] = [search.get('turn'), Number.parseFloat(search.get('t') ?? '')];
  const item =
    turn === null
      ? undefined
      : session.items.find(({ turn_id }) => turn_id !== null && String(turn_id) === turn);
  if (item) return startOf(item, session);
  return session.started_at === null || Number.isNaN(seconds)
    ? null
    : Date.parse(session.started_at) + seconds * 1_000;
}

/** The page of a call, within the console, at this second after its start; null: at its beginning. */
export function pathOfMoment(sessionId: string, second: number | null): string {
  return `/calls/${sessionId}${second === null ? '' : `?t=${second.toFixed(1)}`}`;
}

/** A shareable address of a moment in a call. */
export function linkToMoment(session: SessionDetail, atMs: number): string {
  const url = new URL(`/console/calls/${session.session_id}`, location.href);
  if (session.started_at !== null)
    url.searchParams.set('t', (Math.ceil((atMs - Date.parse(session.started_at)) / 100) / 10).toFixed(1));
  return url.href;
}
