/** Places one call of a test by voice, and reads its session after the end. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallRecord } from '#caller/caller.ts';
import type { Scene } from '#caller/scene.ts';
import { MOST_LINE_CHARS } from '#protocol/caller-steps.ts';
import type { CallVerdict } from '#protocol/test-call-question.ts';
import { MOST_VOICE_STEPS, type VoiceExpectations } from '#protocol/voice-test.ts';
import type { Api, Json } from './api.ts';
import { askOfTestCall } from './ask-of-test-call.ts';
import { placeTestCall } from './place-test-call.ts';
import { type CallPaths, SimulatedCaller, type SimulatedCallerOptions } from './simulated-caller.ts';
import type { SipAddress } from './test-call-permit.ts';
import type { VoiceCall } from './voice-checks.ts';

/** Beside those of the doctor. */
const PORTS = { first: 30_200, last: 30_399 };
/** User part of the called address: the header says which agent answers. */
const CALLED = 'test';
const POLL_MS = 300;
const SETTLE_MS = 30_000;
/** A model judges the transcript after the end. */
const ANALYSE_MS = 150_000;
const BUSY_ATTEMPTS = 4;
const BUSY_MS = 10_000;

/** A call is repeated if its caller was late by more, ms, because it did not play the test as written. */
const LATEST_MS = 200;

/** Whether a caller was too late to have played its test as written. */
export function isLate(lateMs: number): boolean {
  return lateMs > LATEST_MS;
}

/** Where and whom to call. */
export interface VoiceStage {
  readonly api: Pick<Api, 'get' | 'post' | 'url'>;
  readonly agentId: string;
  readonly version: 'draft' | 'published' | number;
  readonly sip: SipAddress;
  /** Address of this machine. */
  readonly from: string;
}

/** A permitted call, as the API answers. */
export interface VoicePermit {
  readonly session_id: string;
  readonly header: { readonly name: string; readonly value: string };
  readonly config_hash: string;
  /** Null with an external SIP server. */
  readonly sip: SipAddress | null;
}

/** A call that took place. */
export interface PlacedVoiceCall {
  readonly sessionId: string;
  readonly call: VoiceCall;
  /** Longest delay of this process during the call, ms. */
  readonly lateMs: number;
}

/** Asks for one call. */
export function permitVoiceCall({
  api,
  agentId,
  version,
}: Pick<VoiceStage, 'api' | 'agentId' | 'version'>): Promise<VoicePermit> {
  return api.post(`/v1/agent/agents/${encodeURIComponent(agentId)}/test-calls`, { version });
}

/** What a call needs besides its scene. */
export interface VoiceCallOptions {
  /** The analysis of the call is awaited, or the test's own conditions are judged, if they expect it. */
  readonly expect: Pick<VoiceExpectations, 'criteria' | 'judged' | 'judge_model'>;
  /** Who converses; null if no step does. */
  readonly converses: Pick<SimulatedCallerOptions, 'caller' | 'speak'> | null;
  readonly signal?: AbortSignal;
}

/**
 * Plays a scene to the agent. Throws a plain error that says why there was no call, and `CommandError`.
 */
export async function placeVoiceCall(
  stage: VoiceStage,
  scene: Scene,
  options: VoiceCallOptions,
): Promise<PlacedVoiceCall> {
  for (let attempt = 1; ; attempt++) {
    const permit = await permitVoiceCall(stage);
    const { record, mind, lateMs } = await dial(stage, permit, scene, options);
    const { outcome } = record;
    // The caller hung up in the middle of the test.
    if (options.signal?.aborted) throw new Error('cancelled');
    if (outcome.type === 'answered') {
      const { endedBy } = outcome;
      if (endedBy === 'lost') throw new Error('the agent’s audio stopped: no packets for 10 s');
      const goals = goalsOf(scene, endedBy, mind);
      const heard = await judgedCall(stage, permit, { record, endedBy, lateMs, expect: options.expect });
      return { sessionId: permit.session_id, call: { ...heard, goals }, lateMs };
    }
    if (outcome.type === 'cancelled') throw new Error('cancelled');
    if (outcome.status !== 503 || attempt >= BUSY_ATTEMPTS) throw new Error(whyRefused(outcome));
    await sleep(BUSY_MS);
  }
}

/** Reads the session of an ended call, and has it judged, unless it will be repeated. */
async function judgedCall(
  stage: VoiceStage,
  permit: VoicePermit,
  of: Pick<VoiceCallOptions, 'expect'> & {
    readonly record: CallRecord;
    readonly endedBy: 'caller' | 'agent';
    readonly lateMs: number;
  },
): Promise<Omit<VoiceCall, 'goals'>> {
  const { record, endedBy, lateMs, expect } = of;
  const paths = pathsOf(stage, permit);
  const session = await endedSession(stage.api, paths.session, expect.criteria !== undefined);
  const verdicts = isLate(lateMs) ? null : await verdictsOn(stage.api, paths.questions, record, expect);
  return { ...callOf(record, endedBy, session), verdicts };
}

/** Paths of the API: the session of the call, and questions to a model about it. */
function pathsOf({ agentId }: VoiceStage, { session_id: sessionId }: VoicePermit): CallPaths {
  const agent = `/v1/agent/agents/${encodeURIComponent(agentId)}`;
  return { session: `${agent}/preview-sessions/${sessionId}`, questions: `${agent}/test-calls/${sessionId}` };
}

/** Calls once. */
async function dial(
  stage: VoiceStage,
  permit: VoicePermit,
  scene: Scene,
  { converses, signal }: VoiceCallOptions,
): Promise<{
  readonly record: CallRecord;
  readonly mind: SimulatedCaller | null;
  readonly lateMs: number;
}> {
  const number = { called: CALLED, header: permit.header };
  const mind =
    converses && new SimulatedCaller({ api: stage.api, paths: pathsOf(stage, permit), ...converses });
  const lateness = monitorEventLoopDelay({ resolution: 10 });
  lateness.enable();
  try {
    const path = { ...stage, ports: PORTS };
    const record = await placeTestCall(path, number, scene, { signal, mind: mind ?? undefined });
    return { record, mind, lateMs: lateness.max / 1e6 };
  } finally {
    lateness.disable();
    mind?.close();
  }
}

function whyRefused({ status, reason }: { readonly status: number; readonly reason: string }): string {
  const advice: Readonly<Record<number, string>> = {
    408: 'no answer: name the address where the product accepts calls with --sip',
    486: 'the agent is archived or has no such version',
    503: 'no worker is free, or the account has as many previews at once or in a minute as it may',
  };
  return `the call was refused with ${status} ${reason}${advice[status] ? ` (${advice[status]})` : ''}`;
}

/** The session once it has ended, and is analysed if that is awaited. Throws a plain error if it is not. */
async function endedSession(api: Pick<Api, 'get'>, path: string, isAnalysed: boolean): Promise<Json> {
  const limitMs = performance.now() + (isAnalysed ? ANALYSE_MS : SETTLE_MS);
  for (;;) {
    const session = await api.get(path);
    const isOver = session.status === 'completed' || session.status === 'failed';
    const isPending = ['queued', 'running'].includes(session.analysis?.status);
    if (isOver && !(isAnalysed && isPending)) return session;
    if (performance.now() > limitMs)
      throw new Error(isOver ? 'the call was not analysed in time' : 'the call did not end in time');
    await sleep(POLL_MS);
  }
}

/** The verdicts of a model on the test's own conditions; null without any. */
async function verdictsOn(
  api: Pick<Api, 'post'>,
  path: string,
  { lines }: CallRecord,
  expect: VoiceCallOptions['expect'],
): Promise<readonly CallVerdict[] | null> {
  if (!expect.judged) return null;
  const said = lines.filter(({ means }) => means !== 'sound').map(({ text }) => text);
  const answer = await askOfTestCall(api, `${path}/verdicts`, {
    conditions: expect.judged,
    ...(expect.judge_model === undefined ? {} : { model: expect.judge_model }),
    caller_lines: said.slice(0, MOST_VOICE_STEPS).map((text) => text.slice(0, MOST_LINE_CHARS)),
  });
  return answer?.verdicts ?? null;
}

/** How each conversation ended; null without any. */
function goalsOf(
  { actions }: Scene,
  endedBy: 'caller' | 'agent',
  mind: SimulatedCaller | null,
): VoiceCall['goals'] {
  if (!mind) return null;
  const conversations = actions.filter((action) => action.do === 'converse').length;
  const isCut = endedBy === 'agent' && mind.outcomes.length < conversations;
  return isCut ? [...mind.outcomes, 'agent_hung_up'] : mind.outcomes;
}

function callOf(
  record: CallRecord,
  endedBy: 'caller' | 'agent',
  session: Json,
): Omit<VoiceCall, 'goals' | 'verdicts'> {
  const messages = session.items.filter(({ type, role }: Json) => type === 'message' && role === 'assistant');
  const results: Json[] | undefined = session.analysis?.criteria_results;
  return {
    timeline: record.timeline,
    endedBy,
    replies: messages.map(({ content }: Json) => content),
    tools: session.items
      .filter(({ type }: Json) => type === 'tool_call')
      .map(({ tool_name }: Json) => tool_name),
    criteria: results ? new Map(results.map(({ name, result }) => [name, result])) : null,
  };
}
