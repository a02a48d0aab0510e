/**
 * Plays one scene to the product over SIP or WebRTC. Judging is separate and runs later, because it would
 * take CPU from running calls.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCapture } from '#caller/capture.ts';
import { spokenAt, timelineOf } from '#caller/measure.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import type { Line, Scene } from '#caller/scene.ts';
import { callOverWeb } from '#caller/web-caller.ts';
import type { Timeline } from '#protocol/audible-timeline.ts';
import type { Product } from '#test/journeys/product.ts';
import { alignmentMs } from './alignment.ts';
import { GREETING_TEXT, REPLY_MARK, RESPONSE_WAIT_MS, type SceneCase } from './catalogue.ts';
import { judgeScene, type SessionView, type Verdict } from './judge.ts';
import type { SceneStandIns } from './stand-ins.ts';
import { piecesOf, wordsHeard } from './voice.ts';

/**
 * Maximum wait as a multiple of `response_wait_ms`: includes the factor for turns that seem unfinished and
 * the extra time for slow speakers.
 */
const MAX_WAIT_FACTOR = 3;
const PORTS_PER_CALL = 2;

/** Everything needed to play scenes. */
export interface Stage {
  readonly product: Product;
  readonly standIns: SceneStandIns;
  /** First of the caller's UDP ports; each lane has its own. */
  readonly firstPort: number;
}

/** One call of a scene and the data for judging it. */
export interface Observation {
  /** Offset of the recording's tracks from the line, ms; null if not checked. */
  readonly alignmentMs: number | null;
  /**
   * Maximum event-loop delay of this process during the call, ms. Above one or two packets, the caller played
   * a different scene.
   */
  readonly latenessMs: number;
  readonly timeline: Timeline;
  readonly session: SessionView;
}

/** A judged call. */
export interface JudgedCall {
  readonly verdict: Verdict;
  readonly alignmentMs: number | null;
}

/** Plays a scene once, with a name and number unique to the call. Throws if the call did not connect. */
export async function playCase(
  stage: Stage,
  item: SceneCase,
  call: { readonly scene: Scene; readonly number: string },
): Promise<Observation> {
  const { product, standIns } = stage;
  const { scene } = call;
  const agentId = await createAgent(product, item, scene.name);
  const lateness = monitorEventLoopDelay({ resolution: 5 });
  lateness.enable();
  const onLine = (line: Line) => {
    const now = Date.now();
    standIns.hear({
      call: scene.name,
      words: line.words.map(({ text, endMs }) => ({ text, endMs: now + endMs })),
    });
  };
  const { timeline, sessionId, recordingMs } =
    item.over === 'phone'
      ? await callByPhone(stage, { agentId, scene, onLine, number: call.number })
      : await callByWeb(product, { agentId, scene, onLine });
  lateness.disable();
  const session = await waitForEnd(product, sessionId);
  return { alignmentMs: recordingMs, latenessMs: lateness.max / 1e6, timeline, session };
}

/** Judges a call. `spoken` holds all texts the voice received. */
export function judgeCase(
  item: SceneCase,
  { timeline, session, alignmentMs: alignment }: Observation,
  spoken: ReadonlySet<string>,
): JudgedCall {
  const { reply, conversation } = item.agent;
  const waitMs = Number(conversation['response_wait_ms'] ?? RESPONSE_WAIT_MS);
  const pieces = piecesOf(reply, spoken);
  const verdict = judgeScene(timeline, session, {
    reply,
    longestWaitMs: MAX_WAIT_FACTOR * waitMs,
    isInterruptible: conversation['interruptible'] !== false,
    wordsHeard: (heardMs) => wordsHeard(pieces, heardMs),
  });
  return { verdict, alignmentMs: alignment };
}

interface Placing {
  readonly agentId: string;
  readonly scene: Scene;
  readonly onLine: (line: Line) => void;
}

interface CallCapture {
  readonly timeline: Timeline;
  readonly sessionId: string;
  readonly recordingMs: number | null;
}

async function callByPhone(
  { product, firstPort }: Stage,
  { agentId, scene, onLine, number }: Placing & { readonly number: string },
): Promise<CallCapture> {
  await product.ask('POST', '/v1/agent/phone-numbers', {
    provider: 'managed',
    phone_number: number,
    agent_id: agentId,
  });
  const ports = { first: firstPort, last: firstPort + PORTS_PER_CALL - 1 };
  const capture = await startCapture(ports);
  const record = await new PhoneCaller({ ports }).call({ target: product.sipAddress(number), scene, onLine });
  const datagrams = await capture.stop();
  if (record.outcome.type !== 'answered')
    throw new Error(`the call was not answered: ${JSON.stringify(record.outcome)}`);
  const timeline = timelineOf(datagrams, record);
  const sessionId = await sessionOf(product, agentId);
  await waitForEnd(product, sessionId);
  const hasNoise = scene.conditions.background !== null || scene.conditions.echo !== null;
  if (hasNoise) return { timeline, sessionId, recordingMs: null };
  const [line] = record.lines;
  const onWire = {
    greeting: timeline.agent[0],
    lineMs: line ? spokenAt(line, datagrams, record) : null,
    heard: record.heard,
  };
  return { timeline, sessionId, recordingMs: await alignmentMs(product, sessionId, onWire) };
}

async function callByWeb(product: Product, { agentId, scene, onLine }: Placing): Promise<CallCapture> {
  const grant = await product.ask('POST', '/v1/agent/sessions', { agent_id: agentId });
  const timeline = await callOverWeb(grant, scene, onLine);
  return { timeline, sessionId: grant.session_id, recordingMs: null };
}

async function createAgent(product: Product, { agent }: SceneCase, name: string): Promise<string> {
  const { agent_id: agentId } = await product.ask('POST', '/v1/agent/agents', { name });
  await product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, {
    prompt: {
      first_message_mode: 'fixed',
      first_message: agent.greeting ?? GREETING_TEXT,
      system_prompt: `${REPLY_MARK}${agent.reply}${REPLY_MARK}`,
    },
    conversation: agent.conversation,
    voice: { voice_id: agent.voice },
    asr: { model: agent.recogniser ?? 'deepgram:nova-3', keyterms: [name] },
  });
  await product.ask('POST', `/v1/agent/agents/${agentId}/publish`, {});
  return agentId;
}

async function sessionOf(product: Product, agentId: string): Promise<string> {
  const list = () => product.ask('GET', `/v1/agent/sessions?agent_id=${agentId}`);
  await product.until('the session is listed', async () => (await list()).sessions.length > 0);
  return (await list()).sessions[0].session_id;
}

/** Returns the session once it has ended and its last reports have arrived. */
async function waitForEnd(product: Product, sessionId: string): Promise<SessionView> {
  const session = () => product.ask('GET', `/v1/agent/sessions/${sessionId}`);
  await product.until(
    'the session is over',
    async () => ['completed', 'failed'].includes((await session()).status),
    20_000,
  );
  await sleep(300);
  return session();
}
