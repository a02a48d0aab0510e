/**
 * Routes that ask a language model about a test call of the account: the next move of a caller with a goal,
 * and verdicts on conditions of the test once the call has ended. Nothing is stored; each answer costs its
 * list price of the account's daily allowance for tests.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { DEMO_MODEL_ID } from '#config/language-models.ts';
import { LIMITS } from '#config/limits.ts';
import { MOST_LINE_CHARS, MOST_MOVES } from '#protocol/caller-steps.ts';
import {
  callConditions,
  callerMove,
  callerPersona,
  callVerdict,
  heardTurn,
  MOST_SHOWN_TURNS,
  type TestCallOutcome,
  type TestCallQuestion,
  testModel,
} from '#protocol/test-call-question.ts';
import { MOST_VOICE_STEPS } from '#protocol/voice-test.ts';
import { findPreview } from '../../calls/sessions/find-session.ts';
import { readPlan } from '../../calls/sessions/new-session.ts';
import { readTimeline } from '../../calls/sessions/timeline.ts';
import type { Context } from '../../platform/context.ts';
import { type Caller, callerOf } from '../../platform/http/auth.ts';
import { invalidField } from '../../platform/http/problems.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { requireRate } from '../../platform/limits/rate.ts';
import { requireNotOverdrawn, workingOnCalls } from '../../platform/limits/request-places.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { hasEnded, isRunning } from '../../platform/store/session-status.ts';
import { defaultModel, isAskable } from './asked-model.ts';
import { countTestSpending, requireTestSpending } from './test-limits.ts';

const callPath = z.object({ agent_id: z.string(), session_id: z.string() });
const config = { access: 'beta', isAudited: false } as const;

const model = testModel
  .optional()
  .describe(
    'Model that is asked, `<provider>/<model>`; absent: the agent’s own, or the default model of this ' +
      'deployment if the agent’s is `local/demo` or on a server of its own',
  );

const moveBody = z.strictObject({
  persona: callerPersona.optional().describe('Who calls, and how they behave'),
  goal: z.string().min(1).max(2_000).describe('What the caller wants of the call'),
  model,
  turns: z
    .array(heardTurn)
    .max(MOST_SHOWN_TURNS)
    .describe('The call so far, in order: the agent as it was heard, the caller as they spoke'),
  moves_left: z
    .number()
    .int()
    .min(1)
    .max(MOST_MOVES)
    .default(1)
    .describe('Moves that the caller may still make, this one included'),
});

const verdictBody = z.strictObject({
  conditions: callConditions.describe('What the call must have led to'),
  model,
  caller_lines: z
    .array(z.string().max(MOST_LINE_CHARS))
    .max(MOST_VOICE_STEPS)
    .default([])
    .describe('What the caller really said; the call’s own transcript has what was recognised'),
});

const answeredBy = { model: z.string().describe('The language model that answered, `<provider>/<model>`') };

/** Registers the routes. */
export function registerTestCallQuestionRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/v1/agent/agents/:agent_id/test-calls/:session_id/moves',
    {
      config,
      schema: {
        tags: ['tests'],
        params: callPath,
        body: moveBody,
        response: { 200: callerMove.extend(answeredBy) },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const session = await findTestCall(context, caller, request.params);
      if (!isRunning(session.status))
        throw fault('test_call_not_running', {
          detail: 'The call is not running: a caller moves only while it is',
        });
      await requireRate(context, {
        key: `test-call-moves:${session._id}`,
        limit: LIMITS.testCallMovesPerMinute,
        what: 'moves in one test call',
      });
      const { persona = null, goal, turns, moves_left, model: wanted } = request.body;
      const question = { step: 'move', persona, goal, turns, moves_left } as const;
      const { outcome, model: answered } = await ask(context, caller, { session, wanted, question });
      if (outcome.outcome !== 'move') throw unanswered(answered, outcome);
      return { ...outcome.move, model: answered };
    },
  );

  app.post(
    '/v1/agent/agents/:agent_id/test-calls/:session_id/verdicts',
    {
      config,
      schema: {
        tags: ['tests'],
        params: callPath,
        body: verdictBody,
        response: {
          200: z.object({
            verdicts: z.array(callVerdict).describe('One for each condition, in their order'),
            ...answeredBy,
          }),
        },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const session = await findTestCall(context, caller, request.params);
      if (!hasEnded(session.status))
        throw fault('conflict', { detail: 'The call is still running: it is judged once it has ended' });
      const { conditions, caller_lines: lines, model: wanted } = request.body;
      const items = await readTimeline(context, session);
      const ended_by = session.end_reason ?? 'unknown';
      const question = { step: 'judge', conditions, items, lines, ended_by } as const;
      const { outcome, model: answered } = await ask(context, caller, { session, wanted, question });
      if (outcome.outcome !== 'judged') throw unanswered(answered, outcome);
      return { verdicts: outcome.verdicts, model: answered };
    },
  );
}

/** A phone call that is a preview: of a voice test, or of the doctor. Throws `not_found`. */
async function findTestCall(
  context: Context,
  { teamId }: Caller,
  { agent_id: agentId, session_id: sessionId }: z.output<typeof callPath>,
): Promise<SessionDocument> {
  const session = await findPreview(context, { teamId, agentId, sessionId });
  if (session.source !== 'phone') throw fault('not_found');
  return session;
}

/** A question without its model. */
type Unaddressed<Question> = Question extends TestCallQuestion
  ? Omit<Question, 'model' | 'local_models'>
  : never;

/**
 * Asks within the limits of the account. Throws `overdrawn`, `test_spending_reached`, `too_many_a_minute`,
 * `too_many_at_once`, `no_language_model`, and `InvalidRequest` for a model that cannot be asked.
 */
async function ask(
  context: Context,
  caller: Caller,
  of: {
    readonly session: SessionDocument;
    readonly wanted: string | undefined;
    readonly question: Unaddressed<TestCallQuestion>;
  },
): Promise<{ readonly outcome: TestCallOutcome; readonly model: string }> {
  const { userId, teamId } = caller;
  const id = await modelOf(context, of.session, of.wanted);
  await requireNotOverdrawn(context, userId);
  await requireTestSpending(context, teamId);
  const addressed = { model: id, local_models: context.localModels.known().filter((one) => one.id === id) };
  const outcome = await workingOnCalls(context, caller, 'testCallQuestions', () =>
    context.dispatch.askOfTestCall({ ...of.question, ...addressed } as TestCallQuestion),
  );
  await countTestSpending(context, teamId, outcome.cost_micros);
  return { outcome, model: id };
}

async function modelOf(
  context: Context,
  session: SessionDocument,
  wanted: string | undefined,
): Promise<string> {
  if (wanted === DEMO_MODEL_ID)
    throw invalidField(['model'], `${DEMO_MODEL_ID} can neither play a caller nor judge a call`);
  if (wanted !== undefined) {
    if (!isAskable(context, wanted))
      throw invalidField(['model'], 'is not offered here; see GET /v1/agent/models');
    return wanted;
  }
  const llm = (await readPlan(context, session))?.config.llm;
  return llm && llm.custom === null && llm.model !== DEMO_MODEL_ID ? llm.model : defaultModel(context);
}

function unanswered(id: string, outcome: TestCallOutcome): Error {
  const detail = outcome.outcome === 'failed' ? outcome.error : 'no answer';
  return fault('test_call_unanswered', { model: id, detail });
}
