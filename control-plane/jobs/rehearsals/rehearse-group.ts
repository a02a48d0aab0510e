/** The next calls of a rehearsal: their logs go to a worker, and what became of them into the sums. */
import type { AgentConfig } from '#config/agent-config.ts';
import { isTimezone } from '#config/timezones.ts';
import type { RehearsedCall } from '#protocol/rehearsal.ts';
import { addCall, type CallFacts, type RehearsalTally } from '#protocol/rehearsal-tally.ts';
import { DETAIL_FIELDS } from '../../calls/sessions/session-record.ts';
import type { Context } from '../../platform/context.ts';
import { encodeCursor } from '../../platform/http/lists.ts';
import { findSessionPage } from '../../platform/store/find-session-page.ts';
import type { RehearsalDocument } from '../../platform/store/models/rehearsal-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { askAboutCalls, isGroupFull, logOf } from '../ask-about-calls.ts';
import { callsOf } from './calls-of.ts';
import { changesBetween } from './draft-differences.ts';
import { randomOf } from './draw-turns.ts';
import { Unmendable } from './fail-rehearsal.ts';

const PAGE_SIZE = 50;
/** Reading a log needs the session's key. */
const WITHOUT = DETAIL_FIELDS.filter((field) => field !== 'wrapped_key');

/** What a group changes in its rehearsal. */
type Change = Pick<
  RehearsalDocument,
  'cursor' | 'tally' | 'calls_looked_at' | 'calls_of_earlier_versions' | 'left_out'
> & { readonly isLast: boolean };

/** Calls read for a worker. */
interface Group {
  readonly calls: readonly RehearsedCall[];
  readonly facts: ReadonlyMap<string, CallFacts>;
  readonly lookedAt: number;
  readonly withoutLog: number;
  readonly earlier: number;
  /** The last session that was looked at; null if there was none. */
  readonly last: SessionDocument | null;
  readonly isLast: boolean;
}

/**
 * Rehearses the next calls. `no_worker`: none is free or can do it; `no_answer`: one took too long or died.
 */
export async function rehearseGroup(
  context: Context,
  rehearsal: RehearsalDocument,
): Promise<Change | 'no_worker' | 'no_answer'> {
  if (!context.dispatch.hasWorker()) return 'no_worker';
  const group = await readGroup(context, rehearsal);
  const { calls, facts, last } = group;
  const outcomes = await askAboutCalls(calls, rehearsal.attempts, (some) => context.dispatch.rehearse(some));
  if (outcomes === 'no_worker' || outcomes === 'no_answer') return outcomes;
  let tally = JSON.parse(rehearsal.tally) as RehearsalTally;
  const leftOut = { ...rehearsal.left_out };
  leftOut.no_log += group.withoutLog;
  for (const outcome of outcomes) {
    const known = facts.get(outcome.session_id);
    if (outcome.outcome !== 'run') leftOut[outcome.outcome] += 1;
    else if (known) tally = addCall(tally, outcome, known);
  }
  return {
    cursor: last ? encodeCursor({ at: last.created_at, id: last._id }) : rehearsal.cursor,
    tally: JSON.stringify(tally),
    calls_looked_at: rehearsal.calls_looked_at + group.lookedAt,
    calls_of_earlier_versions: rehearsal.calls_of_earlier_versions + group.earlier,
    left_out: leftOut,
    isLast: group.isLast,
  };
}

async function readGroup(context: Context, rehearsal: RehearsalDocument): Promise<Group> {
  const query = { cursor: rehearsal.cursor ?? undefined, page_size: PAGE_SIZE, include_total: false };
  const page = await findSessionPage(context, { filter: callsOf(rehearsal), query, without: WITHOUT });
  const drawn = new Set(page.rows.filter((session) => isDrawn(session, rehearsal)));
  const configs = await configsOf(context, [...drawn]);
  const changesOf = changesUnder(JSON.parse(rehearsal.draft) as AgentConfig, configs);
  const group = new GroupInMaking(rehearsal);
  for (const session of page.rows) {
    if (drawn.has(session)) {
      const changes = changesOf(session);
      const log = changes && (await logOf(context, session));
      if (log && group.isFullFor(log)) return { ...group.read(), isLast: false };
      group.add(session, changes && log ? { changes, log } : null);
    }
    group.last = session;
  }
  return { ...group.read(), isLast: !page.has_more };
}

/** Takes calls until they are enough for one message. */
class GroupInMaking {
  last: SessionDocument | null = null;
  readonly #rehearsal: RehearsalDocument;
  readonly #hourOf: (at: Date) => number;
  readonly #calls: RehearsedCall[] = [];
  readonly #facts = new Map<string, CallFacts>();
  readonly #counts = { lookedAt: 0, withoutLog: 0, earlier: 0 };
  #bytes = 0;

  constructor(rehearsal: RehearsalDocument) {
    this.#rehearsal = rehearsal;
    this.#hourOf = hoursIn(rehearsal.timezone);
  }

  isFullFor({ byteLength: more }: Buffer): boolean {
    const { attempts } = this.#rehearsal;
    return isGroupFull({ calls: this.#calls.length, bytes: this.#bytes }, { more, attempts });
  }

  add(
    session: SessionDocument,
    run: { readonly changes: RehearsedCall['changes']; readonly log: Buffer } | null,
  ): void {
    this.#counts.lookedAt += 1;
    if (session.version_id !== this.#rehearsal.published_id) this.#counts.earlier += 1;
    if (!run) {
      this.#counts.withoutLog += 1;
      return;
    }
    this.#bytes += run.log.byteLength;
    this.#calls.push({ session_id: session._id, log: run.log.toString('utf8'), changes: run.changes });
    this.#facts.set(session._id, factsOf(session, this.#hourOf));
  }

  read(): Omit<Group, 'isLast'> {
    return { calls: this.#calls, facts: this.#facts, ...this.#counts, last: this.last };
  }
}

/** What the draft changes for a session; null if its version is gone. */
function changesUnder(
  draft: AgentConfig,
  configs: ReadonlyMap<string, AgentConfig>,
): (session: SessionDocument) => RehearsedCall['changes'] | null {
  return ({ channel, version_id }) => {
    const ran = configs.get(version_id);
    return ran ? changesBetween(ran, draft, { isWeb: channel === 'web_voice' }) : null;
  };
}

/** The same calls are drawn however often a group is read. */
function isDrawn(
  { _id }: SessionDocument,
  { _id: id, calls_found, calls_wanted }: RehearsalDocument,
): boolean {
  if (calls_wanted >= calls_found) return true;
  return randomOf(`${id}/${_id}`) < calls_wanted / calls_found;
}

async function configsOf(
  { models }: Pick<Context, 'models'>,
  sessions: readonly SessionDocument[],
): Promise<ReadonlyMap<string, AgentConfig>> {
  const ids = [...new Set(sessions.map(({ version_id }) => version_id))];
  if (ids.length === 0) return new Map();
  const versions = await models.versions
    .find({ _id: { $in: ids } }, { config: 1 })
    .lean<Pick<VersionDocument, '_id' | 'config'>[]>();
  return new Map(versions.map(({ _id, config }) => [_id, config]));
}

function factsOf(session: SessionDocument, hourOf: (at: Date) => number): CallFacts {
  const { started_at: startedAt, dialed_number } = session;
  // In both directions the dialed number is the agent's, and the caller number the person's.
  return {
    hour: hourOf(startedAt ?? session.created_at),
    number: session.channel === 'web_voice' ? null : (dialed_number ?? 'unknown'),
    startedMs: startedAt?.getTime() ?? null,
  };
}

function hoursIn(timeZone: string): (at: Date) => number {
  if (!isTimezone(timeZone))
    throw new Unmendable(`conversation.timezone of the draft, ${timeZone}, is not the name of a time zone`);
  const format = new Intl.DateTimeFormat('en', { hour: '2-digit', hourCycle: 'h23', timeZone });
  return (at) => Number(format.format(at));
}
