/**
 * Draws turns of an agent's ended calls at random: first calls, then turns of them. With one seed the same
 * turns are drawn, however often they are drawn.
 */
import { createHash } from 'node:crypto';
import { LIMITS } from '#config/limits.ts';
import { DETAIL_FIELDS } from '../../calls/sessions/session-record.ts';
import { readTimeline } from '../../calls/sessions/timeline.ts';
import type { Context } from '../../platform/context.ts';
import { findSessionPage } from '../../platform/store/find-session-page.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { findSessions } from '../../platform/store/session-archive.ts';
import { type AskingPoint, askingPoints } from './asking-points.ts';
import { callsOf } from './calls-of.ts';

const PAGE_SIZE = 100;

/** A turn that was drawn. */
export interface DrawnTurn {
  readonly session: Pick<SessionDocument, '_id' | 'version_id' | 'channel' | 'started_at' | 'dialed_number'>;
  readonly item: AskingPoint['item'];
  readonly atMs: AskingPoint['atMs'];
  readonly bytes: AskingPoint['bytes'];
}

/** Turns drawn from calls. */
export interface Drawn {
  readonly callsRead: number;
  readonly turnsFound: number;
  readonly turns: readonly DrawnTurn[];
}

/** What is drawn from. */
interface Source {
  readonly calls: Parameters<typeof callsOf>[0];
  readonly found: number;
  /** Calls wanted of those found. */
  readonly wanted: number;
}

/** Draws at most so many turns, in random order; `listed`: calls looked through, the newest. */
export async function drawTurns(
  context: Context,
  { calls, found, wanted }: Source,
  { seed, turns: most, listed }: { readonly seed: string; readonly turns: number; readonly listed: number },
): Promise<Drawn> {
  const share = Math.min(wanted, LIMITS.judgedCallsRead) / Math.max(1, Math.min(found, listed));
  const isDrawn = (id: string) => randomOf(`${seed}/${id}`) < share;
  let drawn: { readonly key: number; readonly turn: DrawnTurn }[] = [];
  let [callsRead, turnsFound] = [0, 0];
  for await (const session of drawnCalls(context, calls, { isDrawn, listed })) {
    const items = await readTimeline(context, session);
    callsRead += 1;
    const points = askingPoints(items);
    turnsFound += points.length;
    // Without the contents of the call: many calls are long.
    const { _id, version_id, channel, started_at, dialed_number } = session;
    const of = { _id, version_id, channel, started_at, dialed_number };
    const further = points.map(({ item, atMs, bytes }) => ({
      key: randomOf(`${seed}/${_id}/${item}`),
      turn: { session: of, item, atMs, bytes },
    }));
    drawn = [...drawn, ...further].sort((a, b) => a.key - b.key).slice(0, most);
  }
  return { callsRead, turnsFound, turns: drawn.map(({ turn }) => turn) };
}

/** Uniform in [0, 1). */
export function randomOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
}

async function* drawnCalls(
  context: Context,
  calls: Source['calls'],
  { isDrawn, listed }: { readonly isDrawn: (id: string) => boolean; readonly listed: number },
): AsyncGenerator<SessionDocument> {
  let cursor: string | undefined;
  for (let seen = 0; seen < listed; seen += PAGE_SIZE) {
    const query = { cursor, page_size: PAGE_SIZE, include_total: false };
    const page = await findSessionPage(context, { filter: callsOf(calls), query, without: DETAIL_FIELDS });
    const ids = page.rows.map(({ _id }) => _id).filter(isDrawn);
    yield* await findSessions<SessionDocument>(context, ids, { turns: 0, silences: 0, outbox: 0 });
    if (!page.has_more || page.next_cursor === null) return;
    cursor = page.next_cursor;
  }
}
