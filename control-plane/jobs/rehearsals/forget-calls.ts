/** Removes what rehearsals store about single calls and about a time that is no longer kept. */
import type { RehearsalTally } from '#protocol/rehearsal-tally.ts';
import type { Context } from '../../platform/context.ts';
import type { RehearsalDocument } from '../../platform/store/models/rehearsal-model.ts';

type Stored = Pick<RehearsalDocument, '_id' | 'tally'>;

/**
 * Removes these calls from the calls to listen to and the turns to read of a team's rehearsals; they stay
 * counted. The keys of the calls must be gone. A running rehearsal loses its lease, so that calls which a
 * process has read before are not stored: it reads them again.
 */
export async function forgetCalls(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  sessionIds: readonly string[],
): Promise<void> {
  if (sessionIds.length === 0) return;
  const gone = new Set(sessionIds);
  await models.judgedTurns.updateMany(
    { team_id: teamId, session_id: { $in: [...sessionIds] } },
    { $set: { session_id: null, content: null } },
  );
  const all = await models.rehearsals.find({ team_id: teamId }, { _id: 1 }).lean<Pick<Stored, '_id'>[]>();
  for (const { _id } of all) {
    let isDone = false;
    while (!isDone) {
      const stored = await models.rehearsals.findOne({ _id }, { tally: 1 }).lean<Stored>();
      if (!stored) break;
      const { matchedCount } = await models.rehearsals.updateOne(
        { _id, tally: stored.tally },
        { $set: { tally: without(stored.tally, gone), lease_by: null, lease_until: null } },
      );
      isDone = matchedCount > 0;
    }
  }
}

/** Deletes a team's rehearsals that began until then. */
export async function removeRehearsals(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  until: Date,
): Promise<void> {
  const old = await models.rehearsals
    .find({ team_id: teamId, created_at: { $lte: until } }, { _id: 1 })
    .lean<Pick<Stored, '_id'>[]>();
  await deleteRehearsals(
    { models },
    old.map(({ _id }) => _id),
  );
}

/** Deletes rehearsals with their turns: these first, so that a kill leaves none without its rehearsal. */
export async function deleteRehearsals(
  { models }: Pick<Context, 'models'>,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const turns = { rehearsal_id: { $in: [...ids] } };
  await models.judgedTurns.deleteMany(turns);
  await models.rehearsals.deleteMany({ _id: { $in: [...ids] } });
  // Drawn meanwhile; a later draw finds no rehearsal, and removes its own.
  await models.judgedTurns.deleteMany(turns);
}

/** Removes the answers of turns until then; their verdicts stay counted. */
export async function removeAnswers(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  until: Date,
): Promise<void> {
  await models.judgedTurns.updateMany(
    { team_id: teamId, at: { $lte: until }, session_id: { $ne: null } },
    { $set: { session_id: null, content: null } },
  );
}

function without(stored: string, gone: ReadonlySet<string>): string {
  const tally = JSON.parse(stored) as RehearsalTally;
  const candidates = tally.candidates.filter(({ session_id }) => !gone.has(session_id));
  return JSON.stringify({ ...tally, candidates });
}
