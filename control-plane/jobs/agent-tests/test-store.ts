/**
 * Agent tests in the store: created, changed with optimistic locking (`rev`), attached to agents, deleted.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { removeFromQuota, withinQuota } from '../../accounts/limits/quotas.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import { type Context, now } from '../../platform/context.ts';
import { invalidFrom } from '../../platform/http/problems.ts';
import type { AgentTestDocument } from '../../platform/store/models/agent-test-model.ts';
import { definitionOf, type TestInput, type TestPatch, testCreate } from './test-record.ts';
import { checkTest, type TestOwner } from './test-rules.ts';

const CHANGE_ATTEMPTS = 10;

/** Finds a test of a team. Throws `not_found`. */
export async function findTest(context: Context, teamId: string, testId: string): Promise<AgentTestDocument> {
  const test = await context.models.agentTests
    .findOne({ _id: testId, team_id: teamId })
    .lean<AgentTestDocument>();
  if (!test) throw fault('not_found');
  return test;
}

/** Creates a test with this id. Throws `InvalidRequest`, `quota_reached`. */
export async function createTest(
  context: Context,
  owner: TestOwner,
  input: TestInput,
  id: string,
): Promise<AgentTestDocument> {
  await checkTest(context, owner, input);
  const at = now(context);
  const test: AgentTestDocument = {
    _id: id,
    team_id: owner.teamId,
    workspace_id: owner.workspaceId,
    ...storedFields(input),
    rev: 0,
    created_at: at,
    updated_at: at,
  };
  await withinQuota(context, { kind: 'tests', owner: owner.teamId, id: test._id }, () =>
    context.models.agentTests.create(test),
  );
  return test;
}

/** Changes a test; rules apply to the whole result. Throws `not_found`, `InvalidRequest`. */
export async function patchTest(
  context: Context,
  teamId: string,
  testId: string,
  patch: TestPatch,
): Promise<AgentTestDocument> {
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS; attempt++) {
    const test = await findTest(context, teamId, testId);
    const input = await applyPatch(test, patch);
    await checkTest(context, { teamId, workspaceId: test.workspace_id }, input);
    const saved = await context.models.agentTests
      .findOneAndUpdate(
        { _id: testId, rev: test.rev },
        { $set: { ...storedFields(input), updated_at: now(context) }, $inc: { rev: 1 } },
        { returnDocument: 'after' },
      )
      .lean<AgentTestDocument>();
    if (saved) return saved;
  }
  throw fault('database_unavailable');
}

/** Deletes a test; its runs stay. Throws `not_found`. */
export async function deleteTest(context: Context, teamId: string, testId: string): Promise<void> {
  await removeFromQuota(context, { kind: 'tests', owner: teamId, id: testId }, async () => {
    const { deletedCount } = await context.models.agentTests.deleteOne({ _id: testId, team_id: teamId });
    if (deletedCount === 0) throw fault('not_found');
  });
}

/**
 * Attaches a test to an agent of its workspace if it is not attached. Throws `not_found`, and `conflict` at
 * the limit of agents.
 */
export async function attachTest(
  context: Context,
  teamId: string,
  ids: { agentId: string; testId: string },
): Promise<AgentTestDocument> {
  const [agent, test] = await Promise.all([
    findAgent(context, teamId, ids.agentId),
    findTest(context, teamId, ids.testId),
  ]);
  if (agent.workspace_id !== test.workspace_id) throw fault('not_found');
  if (test.agent_ids.includes(agent._id)) return test;
  const saved = await context.models.agentTests
    .findOneAndUpdate(
      { _id: test._id, [`agent_ids.${LIMITS.testAgents - 1}`]: { $exists: false } },
      { $addToSet: { agent_ids: agent._id }, $set: { updated_at: now(context) }, $inc: { rev: 1 } },
      { returnDocument: 'after' },
    )
    .lean<AgentTestDocument>();
  if (!saved)
    throw fault('conflict', { detail: `A test is attached to at most ${LIMITS.testAgents} agents` });
  return saved;
}

/** Detaches a test from an agent; does nothing if it is not attached. Throws `not_found`. */
export async function detachTest(
  context: Context,
  teamId: string,
  ids: { agentId: string; testId: string },
): Promise<void> {
  await Promise.all([findAgent(context, teamId, ids.agentId), findTest(context, teamId, ids.testId)]);
  await context.models.agentTests.updateOne(
    { _id: ids.testId, team_id: teamId, agent_ids: ids.agentId },
    { $pull: { agent_ids: ids.agentId }, $set: { updated_at: now(context) }, $inc: { rev: 1 } },
  );
}

function storedFields(
  input: TestInput,
): Pick<AgentTestDocument, 'name' | 'test_type' | 'agent_ids' | 'definition'> {
  const { name, agent_ids, ...definition } = input;
  return { name, test_type: input.test_type, agent_ids, definition: JSON.stringify(definition) };
}

/** A large test takes long to check: yields to other work between storing and answering. */
async function applyPatch(test: AgentTestDocument, patch: TestPatch): Promise<TestInput> {
  await nextRound();
  const before = definitionOf(test);
  await nextRound();
  const { simulation: changes, ...fields } = given(patch);
  const simulation =
    changes === undefined
      ? before.simulation
      : {
          ...before.simulation,
          ...given(changes),
          assertions: { ...before.simulation?.assertions, ...given(changes.assertions ?? {}) },
          tool_mocks: { ...before.simulation?.tool_mocks, ...given(changes.tool_mocks ?? {}) },
        };
  const merged = testCreate.safeParse({
    name: test.name,
    agent_ids: test.agent_ids,
    ...before,
    ...fields,
    simulation,
  });
  if (!merged.success) throw invalidFrom(merged.error, 'body');
  await nextRound();
  return merged.data;
}

/** The fields that were sent. */
function given<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}
