/**
 * Links into a call: `?turn=2` leads to what the caller said in that turn, `?t=83.5` to that second since the
 * call began.
 */
import type { SessionDetail } from '../api/types.ts';

type Item = SessionDetail['items'][number];

/** How people speak, words a second. */
const WORDS_PER_SECOND = 2.5;

/** When an item began to be heard, wall time in ms: what a caller said ended when its turn's speech ended. */
export function startOf(item: Item, session: SessionDetail): number {
  const at = Date.parse(item.created_at);
  if (item.type !== 'message' || item.role !== 'user') return at;
  const turn = session.turns.find(({ turn_id }) => turn_id === item.turn_id);
  return (
    (turn ? Date.parse(turn.speech_ended_at) : at) -
    (item.content.split(/\s+/).length / WORDS_PER_SECOND) * 1_000
  );
}

/**
 * The moment an address leads to, wall time in ms; null where it names none, or one the call does not have.
 */
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

/** The address of a moment of a call, to be sent to somebody. */
export function linkToMoment(session: SessionDetail, atMs: number): string {
  const url = new URL(`/console/calls/${session.session_id}`, location.href);
  if (session.started_at !== null)
    url.searchParams.set('t', (Math.ceil((atMs - Date.parse(session.started_at)) / 100) / 10).toFixed(1));
  return url.href;
}
