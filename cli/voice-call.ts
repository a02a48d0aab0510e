/** Places one call of a test by voice, and reads its session after the end. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallRecord } from '#caller/caller.ts';
import type { Scene } from '#caller/scene.ts';
import type { Api, Json } from './api.ts';
import { placeTestCall } from './place-test-call.ts';
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

/**
 * Plays a scene to the agent. `isJudged`: waits for the analysis. Throws a plain error that says why there
 * was no call, and `CommandError`.
 */
export async function placeVoiceCall(
  stage: VoiceStage,
  scene: Scene,
  options: { readonly isJudged: boolean; readonly signal?: AbortSignal },
): Promise<PlacedVoiceCall> {
  for (let attempt = 1; ; attempt++) {
    const permit = await permitVoiceCall(stage);
    const number = { called: CALLED, header: permit.header };
    const lateness = monitorEventLoopDelay({ resolution: 10 });
    lateness.enable();
    const record = await placeTestCall({ ...stage, ports: PORTS }, number, scene, options.signal);
    lateness.disable();
    const { outcome } = record;
    // The caller hung up in the middle of the test.
    if (options.signal?.aborted) throw new Error('cancelled');
    if (outcome.type === 'answered') {
      if (outcome.endedBy === 'lost') throw new Error('the agent’s audio stopped: no packets for 10 s');
      const session = await endedSession(stage, permit.session_id, options.isJudged);
      const call = callOf(record, outcome.endedBy, session);
      return { sessionId: permit.session_id, call, lateMs: lateness.max / 1e6 };
    }
    if (outcome.type === 'cancelled') throw new Error('cancelled');
    if (outcome.status !== 503 || attempt >= BUSY_ATTEMPTS) throw new Error(whyRefused(outcome));
    await sleep(BUSY_MS);
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
async function endedSession(stage: VoiceStage, sessionId: string, isJudged: boolean): Promise<Json> {
  const agent = encodeURIComponent(stage.agentId);
  const limitMs = performance.now() + (isJudged ? ANALYSE_MS : SETTLE_MS);
  for (;;) {
    const session = await stage.api.get(`/v1/agent/agents/${agent}/preview-sessions/${sessionId}`);
    const isOver = session.status === 'completed' || session.status === 'failed';
    const isPending = ['queued', 'running'].includes(session.analysis?.status);
    if (isOver && !(isJudged && isPending)) return session;
    if (performance.now() > limitMs)
      throw new Error(isOver ? 'the call was not analysed in time' : 'the call did not end in time');
    await sleep(POLL_MS);
  }
}

function callOf(record: CallRecord, endedBy: 'caller' | 'agent', session: Json): VoiceCall {
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
