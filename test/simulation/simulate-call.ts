/** One simulated call from its seed: the whole call of the product, with everything around it made of chance. */
import { pino } from 'pino';
import type { DurableReport } from '#config/worker-link.ts';
import { startCall } from '#runtime/call.ts';
import type { CallKnowledge } from '#runtime/knowledge/knowledge-search.ts';
import { withSecondAttempt } from '#runtime/llm/second-attempt.ts';
import type { PlaceCall } from '#runtime/transfer.ts';
import type { Effect } from '#runtime/turn/turn-effects.ts';
import { createRandom, type Random } from './random.ts';
import { type CallerAct, startSimulatedCaller } from './simulated-caller.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { createSimulatedModel, createSimulatedRecognizer, createSimulatedTools, createSimulatedVoice } from './simulated-engines.ts';
import { createSpokenWords, type PlayedReply, SimulatedLeg } from './simulated-leg.ts';
import { type Outage, SimulatedLine } from './simulated-line.ts';
import { simulatedPlan } from './simulated-plan.ts';
import { StepInvariants } from './step-invariants.ts';

/** What a simulated call left behind. */
export interface SimulatedCall {
  readonly seed: number;
  readonly reports: readonly DurableReport[];
  readonly live: readonly { readonly atMs: number; readonly event: Record<string, unknown> }[];
  readonly flightLog: readonly Uint8Array[];
  readonly effects: readonly Effect[];
  readonly played: readonly PlayedReply[];
  readonly legViolations: readonly string[];
  readonly stepViolations: readonly string[];
  readonly acts: readonly CallerAct[];
  readonly outages: readonly Outage[];
  readonly isWordTimed: boolean;
  readonly pendingTimers: number;
  readonly endedMs: number | null;
}

const logger = pino({ level: 'silent' });

/** Longest a simulated call may take: the idle hang-up ends those whose caller stays. */
const GIVE_UP_MS = 600_000;

/** What a call is given instead of leaving it to chance. */
export interface Given {
  readonly isSpeculative?: boolean;
  /** The model's time to its first token, ms. */
  readonly firstTokenMs?: number;
}

/** Runs the call of a seed. */
export async function simulateCall(seed: number, given: Given = {}): Promise<SimulatedCall> {
  const random = createRandom(seed);
  const world = new SimulatedClock();
  const clock = world.forCall();
  const words = createSpokenWords();
  const plan = simulatedPlan(random);
  if (given.isSpeculative !== undefined) plan.config.conversation.speculative_response = given.isSpeculative;
  const isWeb = plan.channel === 'web_voice';
  const line = new SimulatedLine({ clock: world, words, random, kind: isWeb ? random.pick(['webrtc', 'livekit'] as const) : 'rtp' });
  const isWordTimed = random.chance(0.7);
  const faults = random.pick([0, 0, 0.05, 0.3, 0.8]);
  const habits = {
    givesInterims: random.chance(0.75),
    finalDelayMs: random.pick([
      [20, 200],
      [100, 900],
      [500, 2_500],
    ] as const),
    faults: random.pick([0, 0.05, 0.3]),
  };
  const recognizer = random.chance(0.95) ? createSimulatedRecognizer({ clock: world, random: random.fork(), habits }) : null;
  const reports: DurableReport[] = [];
  const live: { atMs: number; event: Record<string, unknown> }[] = [];
  const flightLog: Uint8Array[] = [];
  const effects: Effect[] = [];
  const invariants = new StepInvariants();
  let endedMs: number | null = null;
  const { hang_up_call: canHangUp } = plan.config.tools.system_tools;
  const model = createSimulatedModel({
    ...{ clock: world, random: random.fork(), faults, canHangUp, canTransfer: plan.transfer !== null },
    firstTokenMs: given.firstTokenMs ?? null,
  });
  const outages = random.fork();
  const call = startCall({
    plan,
    clock,
    logger,
    random: () => random.next(),
    recognizer,
    synthesizer: createSimulatedVoice({ clock: world, random: random.fork(), words, givesWordTimes: isWordTimed }),
    model: random.chance(0.5) ? withSecondAttempt(model, null, world) : model,
    knowledge: random.chance(0.3) ? simulatedKnowledge(world, random.fork()) : null,
    createTools: () => ({ runner: createSimulatedTools({ clock: world, random: random.fork() }), settle: null }),
    report: (report) => reports.push(report),
    live: (event) => live.push({ atMs: world.now(), event }),
    saveRecording: () => undefined,
    saveFlightLog: ({ bytes }) => flightLog.push(bytes),
    placeCall: simulatedPhones(world, random.fork()),
    onLegLost: () => {
      // One in ten does not come back in time.
      world.after(outages.chance(0.1) ? 20_000 : outages.between(50, 9_000), () => {
        call.attach(line.open());
        world.after(outages.between(0, 1_500), () => line.connect());
      });
    },
    onStep: (input, step) => {
      invariants.observe(input, step);
      effects.push(...step.effects);
    },
  });
  void call.ended.then(() => {
    endedMs = world.now();
  });
  call.attach(line.open());
  const acts = startSimulatedCaller({
    clock: world,
    random: random.fork(),
    line,
    canBreak: isWeb,
    recognizer,
    untilMs: random.between(10_000, 70_000),
  });
  await world.run(() => endedMs !== null, GIVE_UP_MS);
  return {
    seed,
    reports,
    live,
    flightLog,
    effects,
    played: line.played,
    legViolations: line.violations,
    stepViolations: invariants.violations,
    acts: [...acts, ...line.musicMs.map((atMs) => ({ atMs, untilMs: atMs, what: 'music' }))],
    outages: line.outages,
    isWordTimed,
    pendingTimers: clock.pending(),
    endedMs,
  };
}

/** An index that answers, in time or not at all. */
function simulatedKnowledge(world: SimulatedClock, random: Random): CallKnowledge {
  return {
    async search() {
      await world.sleep(random.between(1, 30));
      return random.chance(0.2) ? null : [{ knowledge_source_id: 'k', name: 'Hours', chunk: 0, text: 'Open at nine.' }];
    },
    close: () => undefined,
  };
}

/** People to transfer to: they let it ring, refuse, are busy, or talk for a while and hang up. */
function simulatedPhones(world: SimulatedClock, random: Random): PlaceCall {
  return async (_request, signal) => {
    try {
      await world.sleep(random.between(200, 12_000), signal);
    } catch {
      return { outcome: 'cancelled' };
    }
    if (random.chance(0.5)) return { outcome: random.pick(['busy', 'no_answer', 'failed'] as const), error: null };
    const leg = new SimulatedLeg({ clock: world, words: createSpokenWords(), latencyMs: 1 });
    world.after(random.between(500, 30_000), () => leg.close('remote'));
    const party = { localParty: '', remoteParty: '', remoteTarget: '', localContact: '', localSdp: '', remoteSdp: '' };
    const dialog = { sipCallId: 'y', localTag: '', remoteTag: '', ...party, routeSet: [], localCseq: 1 };
    return { outcome: 'answered', leg, dialog, refer: () => undefined };
  };
}
