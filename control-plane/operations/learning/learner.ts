/**
 * Lets learners do their steps. A learner belongs to one process at a time (a lease in the store). It writes
 * down what it is about to do before it does it, so that after a crash the next process finishes the same
 * step. It never undoes what a person has done: another publication, a change of the draft, or another share
 * pauses it.
 */
import { Fault } from '#config/errors.ts';
import { patchDraft } from '../../catalogue/agents/agent-store.ts';
import { newestVersion } from '../../catalogue/agents/newest-version.ts';
import { freezeWithConversation } from '../../catalogue/agents/publish.ts';
import { promoteShare, setShareIfFree, settledShare, stopShare } from '../../catalogue/agents/share-store.ts';
import type { CandidatesByAgent } from '../../jobs/regret/regret-runner.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { leaseHolder, takeLease } from '../../platform/store/lease.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { LearningDocument, LearningEntry } from '../../platform/store/models/learning-model.ts';
import type { ShareDocument } from '../../platform/store/models/share-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { recordOwnStep } from '../audit/record-own-step.ts';
import { isSameSetting, shownBy } from './candidates.ts';
import { gatherFacts, toSetting } from './gather-facts.ts';
import { rulesOf, settingOf, withEntry } from './learning-store.ts';
import { nextStep, type Step } from './next-step.ts';

const TICK_MS = 60_000;
const LEASE_MS = 60_000;
/** Not slow replies and dead air: the longer waits of a look cause them by intention. */
const WATCHED = ['failed', 'unsuccessful'] as const;
const SLOW_MS = 2_000;
const AT_LEAST_CALLS = 30;

/** A learner with its agent, as they are now. */
interface Case {
  readonly learning: LearningDocument;
  readonly agent: AgentDocument;
  readonly published: VersionDocument;
  /** The newest share of the agent, running or not. */
  readonly share: ShareDocument | null;
}

/** Starts the learners of this replica. */
export function startLearner(context: Context): BackgroundLoop {
  const holder = leaseHolder(context.settings);
  const isDone = async () => (await context.models.learnings.exists({ status: 'learning' })) === null;
  const options = { name: 'learners', everyMs: TICK_MS, isDone, waitsFor: ['learnings'] } as const;
  return startBackgroundLoop(context, options, () => runLearners(context, holder));
}

/** The settings that the calls of learning agents are judged under, too. */
export function learnersCandidates(context: Context): CandidatesByAgent {
  return async () => {
    const found = await context.models.learnings.find({ status: 'learning' }).lean<LearningDocument[]>();
    return new Map(
      found.map((learning) => [
        learning._id,
        (version: VersionDocument) => shownBy(rulesOf(learning), settingOf(version)),
      ]),
    );
  };
}

/** One step of every learner that has one to do. */
export async function runLearners(context: Context, holder: string): Promise<void> {
  const { learnings } = context.models;
  const open = await learnings.find({ status: 'learning' }, { _id: 1 }).lean<{ _id: string }[]>();
  for (const { _id } of open) {
    try {
      const filter = { _id, status: 'learning' };
      const learning = await takeLease<LearningDocument>(
        context,
        { model: learnings, filter },
        { holder, ms: LEASE_MS },
      );
      if (learning) await advance(context, learning);
    } catch (error) {
      // The next pass retries; other learners do not wait for it.
      context.logger.error({ err: error, agentId: _id }, 'failed to advance a learner');
    }
  }
}

async function advance(context: Context, learning: LearningDocument): Promise<void> {
  const { models } = context;
  const agent = await models.agents.findById(learning._id).lean<AgentDocument>();
  const published = agent && (await newestVersion(context, agent._id));
  if (!agent || !published) return;
  const share = await settledShare(context, agent._id);
  const one: Case = { learning, agent, published, share };
  if (await finishStep(context, one)) return;
  const reason = pauseReason(one);
  if (reason !== null) {
    // First of all, so that after a crash the next pass pauses for the same reason.
    await stopOwnShare(context, one);
    await note(context, one, { did: 'paused', why: reason }, { status: 'paused', trial: null });
    return;
  }
  const isHarmful = share?.end?.reason === 'harm' && share.share_id === learning.trial?.share_id;
  const step = nextStep(await gatherFacts(context, learning, { published, isHarmful }));
  await perform(context, one, step);
}

/** Why a person has the agent now; null if none does. */
function pauseReason({ learning, agent, published, share }: Case): string | null {
  const { trial } = learning;
  if (agent.status === 'archived') return 'The agent is archived.';
  if (published.config_hash !== learning.published_hash)
    return `Version ${published.version_number} was published: set the learner again to go on from it.`;
  if (agent.rev !== learning.draft_rev)
    return 'The draft was changed: publish it or put it back, then set the learner again.';
  const isRunning = share?.status === 'running';
  if (!trial)
    return isRunning ? 'Another share of the calls is running: end it, then set the learner again.' : null;
  if (share?.share_id !== trial.share_id) return 'Another share of the calls was set.';
  return !isRunning && share.end?.reason !== 'harm'
    ? 'The share of the learner was stopped by a person.'
    : null;
}

/** Stops the share that the learner has set; true if it was running. */
async function stopOwnShare(context: Context, { learning, share }: Case): Promise<boolean> {
  const isLeft = share?.status === 'running' && share.share_id === learning.last_share_id;
  if (isLeft) await stopShare(context, learning.team_id, learning._id, share.share_id);
  return isLeft;
}

/** Finishes what a process has begun before it died; true if there was something. */
async function finishStep(context: Context, one: Case): Promise<boolean> {
  const { learning, published, share } = one;
  const { trial } = learning;
  if (!trial) return stopOwnShare(context, one);
  const version = await context.models.versions.findById(trial.version_id).lean<VersionDocument>();
  if (version && version.config_hash === published.config_hash) {
    await finishPromotion(context, one);
    return true;
  }
  if (trial.share_id !== null || pauseReason({ ...one, learning: { ...learning, trial: null }, share: null }))
    return false;
  // Set by a person meanwhile.
  if (share?.status === 'running' && share.version_id !== trial.version_id) return false;
  if (version) await beginShare(context, one, { ...trial, share_id: null }, version.version_number);
  else await note(context, one, { did: 'stopped', why: 'Its version is gone.' }, { trial: null });
  return true;
}

async function perform(context: Context, one: Case, step: Step): Promise<void> {
  switch (step.do) {
    case 'wait':
      if (step.why !== one.learning.why)
        await context.models.learnings.updateOne(
          { _id: one.learning._id, rev: one.learning.rev },
          { $set: { why: step.why } },
        );
      return;
    case 'promote':
      return promote(context, one, step);
    case 'stop':
      return endTrial(context, one, step);
    case 'share':
      return beginTrial(context, one, step);
  }
}

async function promote(context: Context, one: Case, { why }: { readonly why: string }): Promise<void> {
  const { learning, agent } = one;
  if (!(await note(context, one, { did: 'promoted', why }, {}))) return;
  await promoteShare(context, agent.team_id, agent._id, learning.trial?.share_id ?? '');
  const after = await context.models.learnings.findById(agent._id).lean<LearningDocument>();
  if (after?.trial) await finishPromotion(context, { ...one, learning: after });
}

async function endTrial(
  context: Context,
  one: Case,
  { why, isRefused }: Extract<Step, { do: 'stop' }>,
): Promise<void> {
  const { trial, refused: before } = one.learning;
  const refused = isRefused && trial ? [...before, { ...trial.setting, at: now(context) }] : before;
  if (await note(context, one, { did: 'stopped', why }, { trial: null, refused }))
    await stopOwnShare(context, one);
}

async function beginTrial(
  context: Context,
  one: Case,
  { why, purpose, setting }: Extract<Step, { do: 'share' }>,
): Promise<void> {
  const version = await freezeWithConversation(context, one.agent, { ...setting });
  if (version.config_hash === one.published.config_hash) return;
  const trial = { share_id: null, version_id: version._id, purpose, setting: { ...setting } };
  const did = purpose === 'try' ? 'tried' : 'looked';
  const noted = await note(context, one, { did, why }, { trial });
  if (noted) await beginShare(context, { ...one, learning: noted }, trial, version.version_number);
}

async function beginShare(
  context: Context,
  { learning, agent }: Case,
  trial: NonNullable<LearningDocument['trial']>,
  version: number,
): Promise<void> {
  try {
    const wanted = {
      ...{ version, share: learning.share, watch: WATCHED.map((measure) => ({ measure, margin: 0 })) },
      ...{ slow_ms: SLOW_MS, at_least_calls: AT_LEAST_CALLS },
    };
    // Null if a person has set another one: the next pass pauses.
    const share = await setShareIfFree(context, agent.team_id, agent._id, wanted);
    if (!share) return;
    const { share_id } = share;
    const { matchedCount } = await context.models.learnings.updateOne(
      { _id: agent._id, rev: learning.rev },
      { $set: { trial: { ...trial, share_id }, last_share_id: share_id } },
    );
    // A request has changed or ended the learner meanwhile: it does not know of this share.
    if (matchedCount === 0) await stopShare(context, agent.team_id, agent._id, share_id);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    context.logger.warn({ err: error, agentId: agent._id }, 'a learner could not set its share');
  }
}

/** The draft gets the published setting, unless a person has changed it, and equals that version. */
async function finishPromotion(context: Context, { learning, agent }: Case): Promise<void> {
  const { trial } = learning;
  if (!trial) return;
  const version = await context.models.versions.findById(trial.version_id).lean<VersionDocument>();
  if (!version) return;
  const setting = toSetting(trial.setting);
  const isUnchanged = agent.rev === learning.draft_rev;
  const after = isUnchanged
    ? await patchDraft(context, agent.team_id, agent._id, { conversation: setting })
    : agent;
  const isOwn = isUnchanged || isSameSetting(settingOf(agent), setting);
  await context.models.learnings.updateOne(
    { _id: agent._id, rev: learning.rev },
    {
      $set: {
        trial: null,
        published_hash: version.config_hash,
        draft_rev: isOwn ? after.rev : learning.draft_rev,
        why: `Version with ${trial.setting.response_wait_ms} ms, ${trial.setting.eagerness} is published.`,
      },
      $inc: { rev: 1 },
    },
  );
}

/** Stores a step with its reason, and tells of it; null if a request has changed the learner meanwhile. */
async function note(
  context: Context,
  { learning, agent }: Case,
  { did, why }: Pick<LearningEntry, 'did' | 'why'>,
  set: Partial<LearningDocument>,
): Promise<LearningDocument | null> {
  const at = now(context);
  const stored = await context.models.learnings
    .findOneAndUpdate(
      { _id: agent._id, rev: learning.rev },
      {
        $set: { ...set, why, history: withEntry(learning.history, { at, did, why }) },
        $inc: { rev: 1 },
      } as never,
      { returnDocument: 'after' },
    )
    .lean<LearningDocument>();
  if (!stored) return null;
  context.metrics.learningSteps.inc({ did });
  context.logger.info({ agentId: agent._id, did, why }, 'a learner has done a step');
  await recordOwnStep(context, {
    id: `learning:${agent._id}:${stored.created_at.getTime()}:${stored.rev}`,
    teamId: agent.team_id,
    agentId: agent._id,
    verb: did.toUpperCase(),
    part: 'learning',
    requestId: `learning:${stored.rev}`,
    at,
  });
  return stored;
}
