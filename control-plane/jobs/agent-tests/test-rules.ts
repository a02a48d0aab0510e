/** Rules of an agent test beyond its schema: fields required by its kind, and references that must exist. */
import { setImmediate as nextRound } from 'node:timers/promises';
import { isLinearPattern } from '#base/linear-pattern.ts';
import { LIMITS } from '#config/limits.ts';
import type { Simulation } from '#protocol/agent-test.ts';
import { HANG_UP_CALL } from '#protocol/hang-up-call.ts';
import type { Context } from '../../platform/context.ts';
import { InvalidRequest, invalidField, safeKey } from '../../platform/http/problems.ts';
import { isAskable } from './asked-model.ts';
import type { TestInput } from './test-record.ts';

/** Maximum turns of a simulation's starting history. */
const SIMULATION_TURNS = 50;

interface Problem {
  readonly loc: readonly (string | number)[];
  readonly text: string;
}

/** Owner of the test. */
export interface TestOwner {
  readonly teamId: string;
  readonly workspaceId: string;
}

/** Throws `InvalidRequest` with every problem of a test about to be saved. */
export async function checkTest(context: Context, owner: TestOwner, test: TestInput): Promise<void> {
  const problems = [
    ...kindProblems(test),
    ...variableProblems(test),
    ...modelProblems(context, test),
    ...(await patternProblems(test)),
    ...(await agentProblems(context, owner, test.agent_ids)),
    ...(await toolProblems(context, owner, test)),
  ];
  if (problems.length > 0)
    throw new InvalidRequest(problems.flatMap(({ loc, text }) => invalidField(loc, text).entries));
}

function kindProblems(test: TestInput): Problem[] {
  const problems: Problem[] = [];
  const { conversation, test_type, expectation, simulation } = test;
  if (test_type === 'simulation') {
    if (simulation === null) problems.push({ loc: ['simulation'], text: 'is required for simulation tests' });
    if (conversation.length > SIMULATION_TURNS)
      problems.push({
        loc: ['conversation'],
        text: `a simulation starts from at most ${SIMULATION_TURNS} turns`,
      });
    return problems;
  }
  if (simulation !== null) problems.push({ loc: ['simulation'], text: 'is for simulation tests only' });
  if (!conversation.some((turn) => turn.role === 'user'))
    problems.push({ loc: ['conversation'], text: 'needs at least one turn of the user' });
  if (test_type === 'next_reply' && expectation.trim() === '')
    problems.push({ loc: ['expectation'], text: 'is required for next_reply tests' });
  return problems;
}

function variableProblems({ dynamic_variables: given }: TestInput): Problem[] {
  const isTooMuch =
    Object.keys(given).length > LIMITS.variableEntries ||
    Buffer.byteLength(JSON.stringify(given)) > LIMITS.variableBytes;
  return isTooMuch
    ? [
        {
          loc: ['dynamic_variables'],
          text: `at most ${LIMITS.variableEntries} entries and ${LIMITS.variableBytes} bytes`,
        },
      ]
    : [];
}

function modelProblems(context: Context, { simulation }: TestInput): Problem[] {
  const id = simulation?.simulated_user_model ?? null;
  return id === null || isAskable(context, id)
    ? []
    : [
        {
          loc: ['simulation', 'simulated_user_model'],
          text: 'is not offered here; see GET /v1/agent/models',
        },
      ];
}

/** A pattern takes milliseconds to parse: yields to other work in between. */
async function patternProblems({ simulation }: TestInput): Promise<Problem[]> {
  const patterns = simulation === null ? [] : patternsOf(simulation);
  if (patterns.length > LIMITS.testPatterns)
    return [{ loc: ['simulation'], text: `at most ${LIMITS.testPatterns} regular expressions` }];
  const problems: Problem[] = [];
  for (const { loc, value } of patterns) {
    await nextRound();
    if (!isLinearPattern(value))
      problems.push({ loc, text: 'is not a regular expression of the RE2 syntax' });
  }
  return problems;
}

function patternsOf({
  assertions,
  tool_mocks,
}: Simulation): { readonly loc: Problem['loc']; readonly value: string }[] {
  const places = [
    ...assertions.tool_calls.map(({ params }, index) => ({
      loc: ['simulation', 'assertions', 'tool_calls', index, 'params'],
      matchers: params,
    })),
    ...tool_mocks.tools.map(({ when }, index) => ({
      loc: ['simulation', 'tool_mocks', 'tools', index, 'when'],
      matchers: when ?? {},
    })),
  ];
  return places.flatMap(({ loc, matchers }) =>
    Object.entries(matchers).flatMap(([name, { type, value }]) =>
      type === 'regex' ? [{ loc: [...loc, safeKey(name)], value }] : [],
    ),
  );
}

async function agentProblems(
  { models }: Context,
  { teamId, workspaceId }: TestOwner,
  agentIds: readonly string[],
): Promise<Problem[]> {
  if (agentIds.length === 0) return [];
  const found = await models.agents
    .find({ _id: { $in: agentIds }, team_id: teamId, workspace_id: workspaceId }, { _id: 1 })
    .lean();
  const known = new Set(found.map((agent) => agent._id));
  return agentIds.flatMap((id, index) =>
    known.has(id) ? [] : [{ loc: ['agent_ids', index], text: 'unknown agent' }],
  );
}

async function toolProblems({ models }: Context, owner: TestOwner, test: TestInput): Promise<Problem[]> {
  const referenced = test.referenced_tool;
  if (referenced === null) return [];
  return (await isKnownTool(models, owner, referenced))
    ? []
    : [
        {
          loc: ['referenced_tool', 'id'],
          text: 'unknown tool; see GET /v1/agent/agents/{agent_id}/test-tools',
        },
      ];
}

async function isKnownTool(
  models: Context['models'],
  { teamId, workspaceId }: TestOwner,
  { id, type }: NonNullable<TestInput['referenced_tool']>,
): Promise<boolean> {
  if (type === 'integration') return id === HANG_UP_CALL;
  const owned = { team_id: teamId, workspace_id: workspaceId };
  if (type !== 'mcp') return (await models.tools.exists({ ...owned, _id: id, tool_type: type })) !== null;
  const [serverId = '', ...name] = id.split('/');
  const server = { ...owned, _id: serverId, 'tools.name': name.join('/') };
  return (await models.toolServers.exists(server)) !== null;
}
