/** The next question about a turn: to the agent's model, or to the judge. */
import { z } from 'zod';
import type { Sealer } from '#base/sealer.ts';
import type { AgentConfig } from '#config/agent-config.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { mostMicros, type TurnAnswer, type TurnQuestion, turnAnswer } from '#protocol/judged-turns.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import { buildPlan } from '../../calls/plans/build-plan.ts';
import { readPlan } from '../../calls/sessions/new-session.ts';
import { openJson } from '../../calls/sessions/sealed-contents.ts';
import { sealerOf } from '../../calls/sessions/session-store.ts';
import { readTimeline } from '../../calls/sessions/timeline.ts';
import { planKnowledge } from '../../catalogue/knowledge/plan-knowledge.ts';
import type { Context } from '../../platform/context.ts';
import type { JudgedTurnDocument } from '../../platform/store/models/judged-turn-model.ts';
import type { JudgeState } from '../../platform/store/models/rehearsal-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { findOneSession } from '../../platform/store/session-archive.ts';
import { askingPoints, bytesOf } from './asking-points.ts';
import { randomOf } from './draw-turns.ts';

/** Sealing context of what is stored about a turn. */
export const CONTENT = 'judged_turn';
/** Bytes of a judge's request besides the call: instructions, and two answers of a usual length. */
const COMPARISON_BYTES = 6_000;
/** More of a call a judge does not read. */
const COMPARED_BYTES = 24_000;

/** What is stored about a turn, sealed. */
export const judgedContent = z.object({
  call_answer: turnAnswer,
  /** Of the draft, or of the call's version once more. */
  answer: turnAnswer,
  reason: z.string(),
});

/** The draft when the rehearsal began; its secrets are encrypted. */
export interface JudgedDraft {
  readonly agent_name: string;
  readonly version: VersionDocument;
}

/** A question that can be asked, and what is needed to store its outcome. */
export interface Prepared {
  readonly turn: JudgedTurnDocument;
  readonly sealer: Sealer;
  readonly question: TurnQuestion;
  /** Reserved for it, and for what must follow it; micro-dollars. */
  readonly micros: number;
  readonly microsAfter: number;
  readonly callAnswer: TurnAnswer;
  /** Null before the draft has answered. */
  readonly answer: TurnAnswer | null;
  /** The judge sees the call's answer second. */
  readonly isSwapped: boolean;
}

/** Prepares the next question; null if the turn's call can no longer be read. */
export async function prepareQuestion(
  context: Context,
  { judge, draft }: { readonly judge: JudgeState; readonly draft: JudgedDraft },
  turn: JudgedTurnDocument,
): Promise<Prepared | null> {
  const session =
    turn.session_id === null
      ? null
      : await findOneSession(context, { _id: turn.session_id, team_id: turn.team_id });
  const sealer = session && sealerOf(context, session);
  if (!session || !sealer) return null;
  const items = await readTimeline(context, session);
  const point = askingPoints(items).find(({ item }) => item === turn.item);
  if (!point) return null;
  const before = items.slice(0, point.item);
  const about = { turn, sealer, callAnswer: point.answer, isSwapped: randomOf(`order/${turn._id}`) < 0.5 };
  if (turn.state === 'answered') {
    const content = openJson(sealer, turn.content, CONTENT, judgedContent);
    if (!content) return null;
    const question = comparison(context, judge, { before, about, answer: content.answer });
    return { ...about, question, micros: question.most_micros, microsAfter: 0, answer: content.answer };
  }
  const ran = await readPlan(context, session);
  if (!ran) return null;
  const plan = turn.kind === 'again' ? ran : await draftPlan(context, { session, ran, draft });
  const most_micros = Math.max(
    turn.needs_micros ?? 0,
    mostMicros(plan.config.llm.model, bytesOfPlan(plan) + bytesOf(before) * 1.2 + 60 * before.length),
  );
  const question = { step: 'answer', plan, items: before, at_ms: point.atMs, most_micros } as const;
  return {
    ...about,
    ...{ question, micros: most_micros, microsAfter: comparisonMicros(judge, before), answer: null },
  };
}

function comparison(
  context: Context,
  judge: JudgeState,
  of: {
    readonly before: SessionItem[];
    readonly about: Pick<Prepared, 'turn' | 'callAnswer' | 'isSwapped'>;
    readonly answer: TurnAnswer;
  },
): Extract<TurnQuestion, { step: 'compare' }> {
  const { turn, callAnswer, isSwapped } = of.about;
  return {
    step: 'compare',
    model: judge.judge_model,
    local_models: context.localModels.known().filter(({ id }) => id === judge.judge_model),
    items: of.before,
    first: isSwapped ? of.answer : callAnswer,
    second: isSwapped ? callAnswer : of.answer,
    most_micros: Math.max(turn.needs_micros ?? 0, comparisonMicros(judge, of.before)),
  };
}

function comparisonMicros({ judge_model }: JudgeState, before: readonly SessionItem[]): number {
  const bytes = Math.min(bytesOf(before) * 1.2 + 40 * before.length, COMPARED_BYTES);
  return mostMicros(judge_model, Math.ceil(bytes) + COMPARISON_BYTES);
}

/** Bytes of a request besides the call; a worker says what it really needs. */
export function bytesOfPlan({ config, tools, tool_servers }: CallPlan): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify([config.prompt, tools, tool_servers])) + 6_000);
}

/** The plan that the call would have had under the draft: what its request had set stays set. */
async function draftPlan(
  context: Context,
  {
    session,
    ran,
    draft,
  }: { readonly session: SessionDocument; readonly ran: CallPlan; readonly draft: JudgedDraft },
): Promise<CallPlan> {
  const { agent_name, version } = draft;
  const stored = await context.models.versions
    .findById(session.version_id, { config: 1 })
    .lean<Pick<VersionDocument, 'config'>>();
  const before = stored?.config ?? null;
  const plan = buildPlan(context, {
    sessionId: session._id,
    agent: { _id: session.agent_id, name: agent_name },
    version,
    knowledge: await planKnowledge(context, version),
    channel: ran.channel,
    // A question has no connections.
    transport: { type: 'webrtc' },
    timezone: ran.system_variables.timezone,
    callerNumber: ran.system_variables.caller_number,
    dialedNumber: ran.system_variables.dialed_number,
    overrides: before ? overridesOf(ran.config, before, version.config) : {},
    variables: setVariables(ran, before),
    endUserId: ran.end_user_id,
    llmExtraBody: null,
    recordAudio: false,
    toolEvents: false,
    worldContext: ran.world_context,
    isPreview: false,
    earlierTexts: ran.earlier_texts ?? null,
    outreach: ran.outreach,
  });
  const { language } = plan.system_variables;
  return { ...plan, system_variables: { ...ran.system_variables, language } };
}

/** Variables that are not the version's own defaults. */
function setVariables(ran: CallPlan, before: AgentConfig | null): CallPlan['variables'] {
  const defaults = before?.variables?.defaults ?? {};
  return Object.fromEntries(
    Object.entries(ran.variables).filter(([name, value]) => defaults[name] !== value),
  );
}

/** What a call's request had set in place of its version, unless the draft changes it. */
function overridesOf(
  ran: AgentConfig,
  before: AgentConfig,
  draft: AgentConfig,
): { readonly system_prompt?: string; readonly language?: AgentConfig['voice']['speaking_language'] } {
  const isKept = (one: string, was: string, willBe: string) => one !== was && was === willBe;
  const { system_prompt } = ran.prompt;
  const { speaking_language: language } = ran.voice;
  return {
    ...(isKept(system_prompt, before.prompt.system_prompt, draft.prompt.system_prompt) && { system_prompt }),
    ...(isKept(language, before.voice.speaking_language, draft.voice.speaking_language) && { language }),
  };
}
