/** The judge that a request wants: parsed, checked against what can be asked, and estimated. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { formatMoney, parseMoney } from '#base/money.ts';
import { fault } from '#config/errors.ts';
import { costOf, DEMO_MODEL_ID, isLocal, isModelAllowed, priceOf } from '#config/language-models.ts';
import { LIMITS } from '#config/limits.ts';
import type { JudgedEstimate } from '#protocol/judged-rehearsal.ts';
import { amount } from '../../accounts/wallet/wallet-record.ts';
import type { Context } from '../../platform/context.ts';
import { invalidField } from '../../platform/http/problems.ts';
import { requireNotOverdrawn } from '../../platform/limits/request-places.ts';
import type { JudgeState, RehearsalDocument } from '../../platform/store/models/rehearsal-model.ts';
import { requireTestSpending } from '../agent-tests/test-limits.ts';
import { drawTurns } from './draw-turns.ts';
import { turnsAgain } from './judge-runner.ts';
import type { JudgedDraft } from './turn-question.ts';

const DEFAULT_TURNS = 100;
/** An estimate is about the newest calls, at most so many: a client waits for it. */
const LISTED_CALLS = 5_000;
/** Usual for English; other languages have fewer bytes in a token, or more. */
const BYTES_PER_TOKEN = 4;
/** Tokens of a usual answer, and of a verdict. */
const ANSWER_TOKENS = 80;
const VERDICT_TOKENS = 60;
/** Bytes of the agent's fixed instructions, and of the judge's with two answers. */
const FIXED_BYTES = 2_000;
const JUDGE_BYTES = 2_400;

/** The part of a request. */
export const judgeBody = z.strictObject({
  max_cost: amount
    .refine((text) => (parseMoney(text) ?? 0) > 0, 'must be more than 0')
    .refine(
      (text) => (parseMoney(text) ?? 0) <= LIMITS.judgedMostCost * 1_000_000,
      `must be at most ${LIMITS.judgedMostCost}.00`,
    ),
  turns: z.number().int().min(1).max(LIMITS.judgedTurns).default(DEFAULT_TURNS),
  model: z.string().min(1).max(256).optional(),
});
export type JudgeWanted = z.output<typeof judgeBody>;

/**
 * The judge of a rehearsal that begins. Throws `custom_model_not_judged`, `demo_model_not_judged`,
 * `overdrawn`, `test_spending_reached`, and `InvalidRequest` for a model that is not offered.
 */
export async function openJudge(
  context: Context,
  owner: { readonly userId: string; readonly teamId: string },
  { wanted, draft }: { readonly wanted: JudgeWanted; readonly draft: JudgedDraft },
): Promise<JudgeState> {
  const { llm } = draft.version.config;
  if (llm.custom !== null) throw fault('custom_model_not_judged');
  const judge_model = wanted.model ?? llm.model;
  if (llm.model === DEMO_MODEL_ID || judge_model === DEMO_MODEL_ID) throw fault('demo_model_not_judged');
  if (wanted.model !== undefined) requireOffered(context, wanted.model);
  await requireNotOverdrawn(context, owner.userId);
  await requireTestSpending(context, owner.teamId);
  return {
    rev: 0,
    draft_model: llm.model,
    judge_model,
    max_micros: parseMoney(wanted.max_cost) ?? 0,
    turns: wanted.turns,
    draft: JSON.stringify(draft),
    ...{ drawn: null, spent_micros: 0, lost_micros: 0, asked: [], stopped: null },
  };
}

function requireOffered({ platform, settings }: Context, id: string): void {
  const isOffered = platform.llm.some((model) => model.id === id);
  if (!isOffered || !isModelAllowed(settings.LLM_ALLOWED, id))
    throw invalidField(['judge', 'model'], 'is not offered here; see GET /v1/agent/models');
}

/** What a judged rehearsal would cost, from turns drawn as it would draw them. Nothing is asked. */
export async function estimateJudge(
  context: Context,
  rehearsal: Pick<
    RehearsalDocument,
    'team_id' | 'agent_id' | 'since' | 'created_at' | 'calls_found' | 'calls_wanted'
  >,
  { judge, draft }: { readonly judge: JudgeState; readonly draft: JudgedDraft },
): Promise<JudgedEstimate> {
  const { calls_found: found, calls_wanted: wanted } = rehearsal;
  const seed = randomUUID();
  const options = { seed, turns: judge.turns, listed: LISTED_CALLS };
  const drawn = await drawTurns(context, { calls: rehearsal, found, wanted }, options);
  const again = turnsAgain(drawn.turns.length);
  const factor = drawn.turns.length === 0 ? 0 : 1 + again / drawn.turns.length;
  const agentBytes = fixedBytes(draft);
  const asked = { input: 0, output: 0, micros: 0 };
  for (const { bytes } of drawn.turns)
    for (const [model, more, outputTokens] of [
      [judge.draft_model, agentBytes, ANSWER_TOKENS],
      [judge.judge_model, JUDGE_BYTES, VERDICT_TOKENS],
    ] as const) {
      const inputTokens = Math.ceil((bytes + more) / BYTES_PER_TOKEN);
      asked.input += inputTokens;
      asked.output += outputTokens;
      asked.micros += costOf(model, { inputTokens, outputTokens });
    }
  return {
    calls_found: found,
    calls_read: drawn.callsRead,
    turns_found: drawn.turnsFound,
    turns_sampled: drawn.turns.length,
    turns_again: again,
    model: judge.draft_model,
    judge_model: judge.judge_model,
    input_tokens: Math.round(asked.input * factor),
    output_tokens: Math.round(asked.output * factor),
    cost: formatMoney(Math.round(asked.micros * factor)),
    max_cost: formatMoney(judge.max_micros),
    is_priced: [judge.draft_model, judge.judge_model].every((id) => isLocal(id) || priceOf(id) !== null),
  };
}

/** Bytes of a request besides the call: prompt, tools, and knowledge that stands in the prompt. */
function fixedBytes({ version }: JudgedDraft): number {
  const { config, tools, tool_servers, knowledge } = version;
  const known = config.knowledge_base.enabled
    ? knowledge.reduce((sum, { size_bytes }) => sum + size_bytes, 0)
    : 0;
  const offered = tools.map(({ name, description, arguments: given }) => [name, description, given]);
  const served = (tool_servers ?? []).map(({ tools: own }) => own);
  return (
    Buffer.byteLength(JSON.stringify([config.prompt.system_prompt, offered, served])) +
    Math.min(known, LIMITS.knowledgeInlineBytes) +
    FIXED_BYTES
  );
}
