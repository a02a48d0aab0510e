/**
 * Runs concurrent phone calls with turns and interruptions and measures them from one packet capture. Also
 * measures CPU and memory of the whole process tree.
 */

import type { CallOutcome, CallRecord } from '#caller/caller.ts';
import { startCapture } from '#caller/capture.ts';
import { type CallMeasures, measureCall } from '#caller/measure.ts';
import type { CapturedDatagram } from '#caller/pcap.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene, type SceneFile } from '#caller/scene.ts';
import type { Product } from '#test/journeys/product.ts';
import { type CallSpan, type CpuCost, cpuCost } from './cpu-cost.ts';
import type { TimedSample } from './figures.ts';
import { type CoresTaken, type ThreadShare, watchCores, watchThreads } from './load-cpu.ts';
import { type MachineStalls, watchStalls } from './machine-stalls.ts';
import { SETTLE_MS, watchProduct } from './product-use.ts';
import { HEARD_LINE } from './stand-ins.ts';
import { takeCores } from './taken-cores.ts';

/** `response_wait_ms` of the measured agent. */
export const RESPONSE_WAIT_MS = 300;
/** Voiced audio needed to interrupt at sensitivity `high`. */
const BARGE_IN_WAIT_MS = 128;
/** Two ports for each of 300 calls. */
const PORTS = { first: 42_000, last: 42_599 };
/** Time before the calls in which the CPU use of the idle product is measured. */
const IDLE_MS = 4_000;
/** The kernel counts in steps of 10 ms: too coarse in a short time for what is taken off a single call. */
const LONE_CALL_IDLE_MS = 20_000;

/** Result of one load. Lists hold every sample: its start time and its value in ms. */
export interface LoadResult {
  readonly calls: number;
  /** Description of each call that did not end with the caller's hang-up. */
  readonly troubles: readonly string[];
  readonly turnShareMs: readonly TimedSample[];
  /** Turns the agent never answered. */
  readonly unanswered: number;
  readonly bargeInMs: readonly TimedSample[];
  readonly offGridMs: readonly TimedSample[];
  /** Gaps between consecutive packets. */
  readonly gapMs: readonly TimedSample[];
  readonly inviteToAnswerMs: readonly TimedSample[];
  readonly answerToGreetingMs: readonly TimedSample[];
  /** Share of each core that other programs took, 0 to 1; null if no share was to be taken. */
  readonly takenShare: number | null;
  /** Stalls of the machine during the load; null if they could not be measured. */
  readonly stalls: MachineStalls | null;
  readonly cpu: CpuCost;
  readonly cores: CoresTaken;
  /** Of the product, from the first call to the end of the last. */
  readonly threads: readonly ThreadShare[];
  /** Peak resident memory of all processes during the calls. */
  readonly residentBytes: number;
}

/** Rate at which calls are placed, evenly spaced. */
export const CALLS_PER_SECOND = 20;

/** Options of a load. */
export interface LoadOptions {
  readonly calls: number;
  /** Plain turns per call, followed by half as many interruptions. */
  readonly turns: number;
  /** Number of the agent to call. */
  readonly number: string;
  /** Rate at which calls are placed, evenly spaced; `CALLS_PER_SECOND` by default. */
  readonly callsPerSecond?: number;
  /** Share of each core to take away during the calls, 0 to 1; by default none. */
  readonly takesShare?: number;
}

/** From the start of a load to its first call, ms. */
export function beforeCallsMs(calls: number): number {
  return SETTLE_MS + idleMsBefore(calls);
}

function idleMsBefore(calls: number): number {
  return calls === 1 ? LONE_CALL_IDLE_MS : IDLE_MS;
}

/** Places the calls, plays their scenes and measures them. */
export async function runCallLoad(product: Product, options: LoadOptions): Promise<LoadResult> {
  const { calls, callsPerSecond = CALLS_PER_SECOND, takesShare } = options;
  const scenes = Array.from({ length: calls }, (_, index) =>
    prepareScene(questionsScene(index, options.turns)),
  );
  const caller = new PhoneCaller({ ports: PORTS });
  const target = product.sipAddress(options.number);
  const capture = await startCapture(PORTS);
  const processes = product.processes();
  const stopWatching = await watchProduct(processes, { idleMs: idleMsBefore(calls) });
  const watch = await watchStalls();
  const taken = takesShare === undefined ? null : await takeCores(takesShare);
  const stopWatchingCores = watchCores(processes);
  const stopWatchingThreads = watchThreads(processes);
  const records = await Promise.all(
    scenes.map(async (scene, index) => {
      await new Promise((resolve) => setTimeout(resolve, (1_000 * index) / callsPerSecond));
      const placedMs = performance.now();
      const record = await caller.call({ target, scene });
      return { record, placedMs, endedMs: performance.now() };
    }),
  );
  const { samples, idlePerSecond, peakBytes } = stopWatching();
  const [cores, threads] = [stopWatchingCores(), stopWatchingThreads()];
  const takenShare = (await taken?.giveBack()) ?? null;
  const stalls = await watch.stop();
  const datagramsOf = byOwnPort(await capture.stop());
  const measured = records.map(({ record }) => {
    const datagrams = [record.ports.signalling, record.ports.media].flatMap(
      (port) => datagramsOf.get(port) ?? [],
    );
    return { record, measures: measureCall(datagrams, record, { bargeInWaitMs: BARGE_IN_WAIT_MS }) };
  });
  const spans = records.map(
    ({ placedMs, endedMs }, index): CallSpan => ({
      placedMs,
      answeredMs: placedMs + (measured[index]?.measures.inviteToAnswerMs ?? Number.NaN),
      endedMs,
    }),
  );
  return {
    ...summary(measured),
    calls,
    takenShare,
    stalls,
    cpu: cpuCost(samples, spans, idlePerSecond),
    cores,
    threads,
    residentBytes: peakBytes,
  };
}

/** Prints what went wrong in a load: one line per kind, with its count. */
export function printTroubles({ troubles, unanswered }: LoadResult): void {
  for (const trouble of new Set(troubles))
    console.log(`  ${troubles.filter((each) => each === trouble).length} × a call was ${trouble}`);
  if (unanswered > 0) console.log(`  ${unanswered} lines were never answered`);
}

/** Indexes a capture by caller port, to avoid scanning it once per call. */
function byOwnPort(datagrams: readonly CapturedDatagram[]): ReadonlyMap<number, CapturedDatagram[]> {
  const isOwn = (port: number) => port >= PORTS.first && port <= PORTS.last;
  return Map.groupBy(datagrams, ({ sourcePort, destinationPort }) =>
    isOwn(sourcePort) ? sourcePort : destinationPort,
  );
}

function summary(measured: readonly { readonly record: CallRecord; readonly measures: CallMeasures }[]) {
  const all = (pick: (measures: CallMeasures) => readonly (TimedSample | null)[]) =>
    measured.flatMap(({ measures }) => pick(measures)).filter((sample) => sample !== null);
  const turns = measured.flatMap(({ measures }) => measures.turns);
  return {
    troubles: measured.map(({ record }) => troubleOf(record.outcome)).filter((trouble) => trouble !== null),
    turnShareMs: all((measures) =>
      measures.turns.map(({ saidAtMs, replyAfterMs }) =>
        toTimedSample(saidAtMs, replyAfterMs === null ? null : replyAfterMs - RESPONSE_WAIT_MS),
      ),
    ),
    unanswered: turns.filter(({ replyAfterMs }) => replyAfterMs === null).length,
    bargeInMs: all((measures) =>
      measures.bargeIns.map(({ dueAtMs, stoppedAfterMs }) => toTimedSample(dueAtMs, stoppedAfterMs)),
    ),
    offGridMs: all(
      ({ pacing }) =>
        pacing?.atMs.map((atMs, index) =>
          toTimedSample(atMs - (pacing.offGridMs[index] ?? 0), pacing.offGridMs[index] ?? 0),
        ) ?? [],
    ),
    gapMs: all(
      ({ pacing }) =>
        pacing?.atMs
          .slice(1)
          .map((atMs, index) =>
            toTimedSample(pacing.atMs[index] ?? atMs, atMs - (pacing.atMs[index] ?? atMs)),
          ) ?? [],
    ),
    inviteToAnswerMs: all(({ invitedAtMs, inviteToAnswerMs }) => [
      toTimedSample(invitedAtMs, inviteToAnswerMs),
    ]),
    answerToGreetingMs: all(({ answeredAtMs, answerToGreetingMs }) => [
      toTimedSample(answeredAtMs, answerToGreetingMs),
    ]),
  };
}

function toTimedSample(atMs: number | null, value: number | null): TimedSample | null {
  return atMs === null || value === null ? null : { atMs, value };
}

function troubleOf(outcome: CallOutcome): string | null {
  if (outcome.type === 'refused') return `refused with ${outcome.status} ${outcome.reason}`;
  if (outcome.type === 'cancelled') return 'cancelled';
  return outcome.endedBy === 'caller'
    ? null
    : `ended by the ${outcome.endedBy === 'agent' ? 'agent' : 'line: nothing more came'}`;
}

/**
 * Listens to the whole greeting, asks questions, then speaks over the answers. Pauses differ from call to
 * call.
 */
export function questionsScene(index: number, turns: number): SceneFile {
  const listen = { do: 'listen', quiet_ms: 500, timeout_ms: 6_000 } as const;
  const steps: SceneFile['steps'] = [listen];
  for (let turn = 0; turn < turns; turn++)
    steps.push({ do: 'pause', ms: [50, 350] }, { do: 'say', text: HEARD_LINE }, listen);
  for (let turn = 0; turn < turns / 2; turn++)
    steps.push(
      { do: 'say', text: HEARD_LINE },
      { do: 'interrupt', after_ms: [500, 900], text: HEARD_LINE, timeout_ms: 6_000 },
      listen,
    );
  return { name: `call ${index}`, seed: index + 1, steps };
}

/**
 * Creates an agent for measuring: it answers after 300 ms and is interrupted by the least speech. Binds the
 * number to it and returns its id.
 */
export async function createMeasuredAgent(product: Product, phoneNumber: string): Promise<string> {
  const agent = await product.ask('POST', '/v1/agent/agents', { name: 'Measured' });
  await product.ask('PATCH', `/v1/agent/agents/${agent.agent_id}/config`, {
    prompt: { first_message_mode: 'fixed', first_message: 'Hello, this is the agent.' },
    conversation: { response_wait_ms: RESPONSE_WAIT_MS, interruption_sensitivity: 'high' },
  });
  await product.ask('POST', `/v1/agent/agents/${agent.agent_id}/publish`, {});
  await product.ask('POST', '/v1/agent/phone-numbers', {
    provider: 'managed',
    phone_number: phoneNumber,
    agent_id: agent.agent_id,
  });
  return agent.agent_id;
}
