/** One simulated call from its seed: the whole call of the product in a random environment. */
import { pino } from 'pino';
import type { AgentConfig } from '#config/agent-config.ts';
import { NO_VENDOR_METERS } from '#config/vendor-meters.ts';
import { interruptedReplyItem } from '#control-plane/calls/settlement/interrupted-reply.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { DurableReport, FailoverState } from '#protocol/worker-link.ts';
import { type Call, startCall } from '#runtime/calls/call.ts';
import type { CallKnowledge } from '#runtime/knowledge/knowledge-search.ts';
import { hedgedModel } from '#runtime/llm/hedged-model.ts';
import type { Effect } from '#runtime/turn/machine/turn-effects.ts';
import type { PlaceCall } from '#telephony/outbound-call.ts';
import { PressingAgent } from './pressing-agent.ts';
import { createRandom, type Random } from './random.ts';
import { ServedTools } from './served-tools.ts';
import { type CallerAct, startSimulatedCaller } from './simulated-caller.ts';
import { SIMULATED_EPOCH_MS, SimulatedClock } from './simulated-clock.ts';
import {
  createSimulatedModel,
  createSimulatedRecognizer,
  createSimulatedTools,
  createSimulatedVoice,
  type SimulatedRecognizer,
} from './simulated-engines.ts';
import { startFarEnd, type TrueStretch } from './simulated-far-end.ts';
import { createSpokenWords, type PlayedReply, SimulatedLeg } from './simulated-leg.ts';
import { type Outage, SimulatedLine } from './simulated-line.ts';
import { simulatedPlan } from './simulated-plan.ts';
import type { ToolServerScene } from './simulated-tool-server.ts';
import { StepInvariants } from './step-invariants.ts';

/** The result of a simulated call. */
export interface SimulatedCall {
  readonly seed: number;
  readonly reports: readonly DurableReport[];
  readonly live: readonly { readonly atMs: number; readonly event: Record<string, unknown> }[];
  readonly flightLog: readonly Uint8Array[];
  readonly effects: readonly Effect[];
  readonly played: readonly PlayedReply[];
  /** When the words of each reply began, under a worker that died as well. */
  readonly spokenMs: readonly number[];
  readonly legViolations: readonly string[];
  readonly stepViolations: readonly string[];
  readonly acts: readonly CallerAct[];
  readonly outages: readonly Outage[];
  readonly isWordTimed: boolean;
  readonly pendingTimers: number;
  readonly endedMs: number | null;
  /**
   * Null if its worker survived. Otherwise reports, effects, flight log and playout are those of the
   * successor.
   */
  readonly takeover: TakenOver | null;
  /** Whether the agent speaks first. */
  readonly isGreeted: boolean;
  /** Null without a tool server. */
  readonly served: ServedTools | null;
  /** The true kinds of the far end; empty for a call of a caller. */
  readonly farEnd: readonly TrueStretch[];
}

/** A call whose worker died and which another worker continued. */
export interface TakenOver {
  readonly failoverState: FailoverState;
  readonly lostMs: number;
  /** When the caller could hear again. */
  readonly backMs: number;
}

const logger = pino({ level: 'silent' });

/** Maximum duration of a simulated call: the idle hang-up ends calls whose caller stays. */
const GIVE_UP_MS = 600_000;

/** Fixed parameters of a call, which would otherwise be random. */
export interface Given {
  readonly isSpeculative?: boolean;
  /** Replaces conversation settings that were drawn; nothing else in the environment changes. */
  readonly conversation?: Partial<AgentConfig['conversation']>;
  /** The model's time to first token, ms. */
  readonly firstTokenMs?: number;
  /**
   * The worker dies after this many steps of the turn machine, once a participant has joined, and another
   * worker takes the call over.
   */
  readonly diesAfterSteps?: number;
  /** False: steps are not checked, to measure the cost of the checks. */
  readonly isChecked?: boolean;
  /** The agent presses keys. */
  readonly pressesKeys?: boolean;
  /** The agent has a tool server, which does this to the call. */
  readonly toolServer?: ToolServerScene;
  /** The call goes out, to automated lines and people. Its engines do not fail. */
  readonly hasFarEnd?: boolean;
}

/**
 * Only a tool server's client waits for the next round of the event loop; replies that are long enough to
 * wait for it, too, are not simulated.
 */
const TIMERS_A_ROUND = 64;
/** Makes the draws of the server, and of what the agent presses, independent of the call's. */
const SERVER_SEEDS = 0x70_01;
const PRESS_SEEDS = 0x6b_65;
/** After a call with a tool server, for the farewell to it, ms. */
const FAREWELL_MS = 2_000;

/** Time a call then spends without a worker, ms. */
const WITHOUT_WORKER_MS = [200, 4_000] as const;

/** Runs the call for a seed. */
export async function simulateCall(seed: number, given: Given = {}): Promise<SimulatedCall> {
  const random = createRandom(seed);
  const world = new SimulatedClock(given.toolServer === undefined ? TIMERS_A_ROUND : 1);
  const words = createSpokenWords();
  const pressing = new PressingAgent(createRandom(seed ^ PRESS_SEEDS), given.pressesKeys === true);
  const plan = pressing.plan(simulatedPlan(random, given.hasFarEnd));
  Object.assign(plan.config.conversation, given.conversation);
  if (given.isSpeculative !== undefined) plan.config.conversation.speculative_response = given.isSpeculative;
  const served =
    given.toolServer === undefined
      ? null
      : new ServedTools(given.toolServer, { clock: world, random: createRandom(seed ^ SERVER_SEEDS) });
  if (served) plan.tool_servers = [served.server.planned];
  const isWeb = plan.channel === 'web_voice';
  const line = new SimulatedLine({
    clock: world,
    words,
    random,
    kind: isWeb ? random.pick(['webrtc', 'livekit'] as const) : 'rtp',
  });
  const isWordTimed = random.chance(0.7);
  const { faults, recognizer } = draw(random, world, given.hasFarEnd === true);
  const live: { atMs: number; event: Record<string, unknown> }[] = [];
  const stepViolations: string[] = [];
  let endedMs: number | null = null;
  const { hang_up_call: canHangUp } = plan.config.tools.system_tools;
  const written = createSimulatedModel({
    clock: world,
    random: random.fork(),
    faults,
    canHangUp,
    canTransfer: plan.transfer !== null,
    served: served?.names ?? [],
    firstTokenMs: given.firstTokenMs ?? null,
  });
  const model = pressing.model(served?.watched(written) ?? written);
  const outages = random.fork();
  const shared = {
    plan,
    logger,
    random: () => random.next(),
    recognizer,
    synthesizer: createSimulatedVoice({
      clock: world,
      random: random.fork(),
      words,
      givesWordTimes: isWordTimed,
    }),
    model: random.chance(0.5) ? hedgedModel(model, null, { clock: world, vendors: NO_VENDOR_METERS }) : model,
    knowledge: random.chance(0.3) ? simulatedKnowledge(world, random.fork()) : null,
    saveRecording: () => undefined,
    placeCall: simulatedPhones(world, random.fork()),
  };
  let stepsToLive = given.diesAfterSteps ?? Number.POSITIVE_INFINITY;
  let takeover: TakenOver | null = null;

  /** One worker's part of the call. After its death its actions have no effect. */
  function startWorker(failoverState: FailoverState | null): SimulatedWorker {
    const invariants = new StepInvariants(stepViolations);
    const worker = {
      clock: world.forCall(),
      reports: [] as DurableReport[],
      flightLog: [] as Uint8Array[],
      effects: [] as Effect[],
      isAlive: true,
    };
    const call = startCall({
      ...shared,
      clock: worker.clock,
      failoverState,
      createTools: () => {
        const tools = createSimulatedTools({ clock: world, random: random.fork() });
        return { runner: served?.beside(tools, { plan, clock: worker.clock }) ?? tools, settle: null };
      },
      report: (report) => {
        if (worker.isAlive) worker.reports.push(report);
      },
      live: (event) => {
        if (worker.isAlive) live.push({ atMs: world.now(), event });
      },
      saveFlightLog: ({ bytes }) => worker.flightLog.push(bytes),
      onLegLost: () => {
        const ifAlive = (act: () => void) => () => {
          if (worker.isAlive) act();
        };
        // One in ten does not return in time.
        const returning = ifAlive(() => {
          call.attach(line.open());
          world.after(
            outages.between(0, 1_500),
            ifAlive(() => line.connect()),
          );
        });
        world.after(outages.chance(0.1) ? 20_000 : outages.between(50, 9_000), returning);
      },
      onStep: (input, step) => {
        if (!worker.isAlive) return;
        if (given.isChecked !== false) invariants.observe(input, step);
        worker.effects.push(...step.effects);
        stepsToLive -= 1;
        if (stepsToLive <= 0 && takeover === null && worker.reports.some(({ type }) => type === 'joined'))
          die();
      },
    });
    void call.ended.then(() => {
      if (worker.isAlive) endedMs = world.now();
    });
    return { ...worker, call };

    function die(): void {
      worker.isAlive = false;
      line.abandon();
      const lostMs = world.now();
      world.after(0, () => call.end('cancelled'));
      world.after(outages.between(...WITHOUT_WORKER_MS), () => {
        const of = { reports: worker.reports, live, lostMs, nowMs: world.now() };
        takeover = {
          failoverState: failoverStateOf(of),
          lostMs,
          backMs: world.now() + outages.between(0, 500),
        };
        current = startWorker(takeover.failoverState);
        current.call.attach(line.open());
        world.after(takeover.backMs - world.now(), () => line.connect());
      });
    }
  }

  let current = startWorker(null);
  current.call.attach(line.open());
  await served?.connecting();
  const { acts, farEnd } = startOtherSide({
    clock: world,
    random,
    line,
    canBreak: isWeb,
    recognizer,
    hasFarEnd: given.hasFarEnd === true,
  });
  await world.run(() => endedMs !== null, GIVE_UP_MS);
  if (served) await world.run(() => false, world.now() + FAREWELL_MS);
  const { clock, effects, flightLog, reports } = current;
  return {
    seed,
    reports,
    live,
    flightLog,
    effects,
    played: line.playedAfter((takeover as TakenOver | null)?.lostMs ?? 0),
    spokenMs: line.playedAfter(0).flatMap(({ startedMs }) => startedMs ?? []),
    legViolations: line.violations,
    stepViolations,
    acts: [
      ...acts,
      ...line.musicMs.map((atMs) => ({ atMs, untilMs: atMs, what: 'music' })),
      ...line.pressed.map(({ atMs, untilMs }) => ({ atMs, untilMs, what: 'keys' })),
    ],
    outages: line.outages,
    isWordTimed,
    pendingTimers: clock.pending(),
    endedMs,
    takeover,
    isGreeted: plan.config.prompt.first_message_mode !== 'off',
    served,
    farEnd,
  };
}

/** Draws the faults of the model, and a recogniser. With a far end nothing fails, and no word is missed. */
function draw(
  random: Random,
  clock: SimulatedClock,
  hasFarEnd: boolean,
): { readonly faults: number; readonly recognizer: SimulatedRecognizer | null } {
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
  // After its slowest word: what a recogniser does not hear, no rule can judge.
  const sure = { ...habits, finalDelayMs: [320, 500] as const, faults: 0 };
  const recognizer =
    random.chance(0.95) || hasFarEnd
      ? createSimulatedRecognizer({ clock, random: random.fork(), habits: hasFarEnd ? sure : habits })
      : null;
  return { faults: hasFarEnd ? 0 : faults, recognizer };
}

/** The caller, or what answers the agent's call. */
function startOtherSide({
  hasFarEnd,
  random,
  recognizer,
  ...others
}: {
  readonly clock: SimulatedClock;
  readonly random: Random;
  readonly line: SimulatedLine;
  readonly canBreak: boolean;
  readonly recognizer: SimulatedRecognizer | null;
  readonly hasFarEnd: boolean;
}): { readonly acts: readonly CallerAct[]; readonly farEnd: readonly TrueStretch[] } {
  const side = { ...others, random: random.fork() };
  return hasFarEnd && recognizer
    ? { acts: [], farEnd: startFarEnd({ ...side, recognizer }) }
    : {
        acts: startSimulatedCaller({ ...side, recognizer, untilMs: random.between(10_000, 70_000) }),
        farEnd: [],
      };
}

/** One worker and its results. */
interface SimulatedWorker {
  readonly call: Call;
  readonly clock: ReturnType<SimulatedClock['forCall']>;
  readonly reports: readonly DurableReport[];
  readonly flightLog: readonly Uint8Array[];
  readonly effects: readonly Effect[];
}

/** What the control plane sends to the successor of a worker, based on its reports and events. */
function failoverStateOf(of: {
  reports: readonly DurableReport[];
  live: SimulatedCall['live'];
  lostMs: number;
  nowMs: number;
}): FailoverState {
  const items = of.reports.flatMap((report): SessionItem[] => (report.type === 'items' ? report.items : []));
  const captions = of.live.filter(({ event }) => event['type'] === 'transcript' && event['role'] === 'agent');
  const last = captions.at(-1);
  const text = last && last.event['final'] !== true ? String(last.event['text']) : '';
  const heard = last && text !== '' ? { text, atMs: SIMULATED_EPOCH_MS + last.atMs } : null;
  const brokenOff = interruptedReplyItem(items, heard);
  const joined = of.reports.find(({ type }) => type === 'joined');
  const joinedMs = joined?.type === 'joined' ? Date.parse(joined.at) - SIMULATED_EPOCH_MS : of.lostMs;
  return {
    items: brokenOff ? [...items, brokenOff] : items,
    was_cut_off: brokenOff !== null,
    elapsed_ms: of.nowMs - joinedMs,
    lost_at: new Date(SIMULATED_EPOCH_MS + of.lostMs).toISOString(),
    dialog: null,
    person: null,
  };
}

/** An index that answers in time or not at all. */
function simulatedKnowledge(world: SimulatedClock, random: Random): CallKnowledge {
  return {
    async search() {
      await world.sleep(random.between(1, 30));
      return random.chance(0.2)
        ? null
        : [{ knowledge_source_id: 'k', name: 'Hours', chunk: 0, text: 'Open at nine.' }];
    },
    close: () => undefined,
  };
}

/** Transfer destinations: people who do not answer, refuse, are busy, or talk for a while and hang up. */
function simulatedPhones(world: SimulatedClock, random: Random): PlaceCall {
  return async (_request, signal) => {
    try {
      await world.sleep(random.between(200, 12_000), signal);
    } catch {
      return { outcome: 'cancelled' };
    }
    if (random.chance(0.5))
      return { outcome: random.pick(['busy', 'no_answer', 'failed'] as const), error: null };
    const leg = new SimulatedLeg({ clock: world, words: createSpokenWords(), latencyMs: 1 });
    world.after(random.between(500, 30_000), () => leg.close('remote'));
    const party = {
      localParty: '',
      remoteParty: '',
      remoteTarget: '',
      localContact: '',
      localSdp: '',
      remoteSdp: '',
    };
    const dialog = { sipCallId: 'y', localTag: '', remoteTag: '', ...party, routeSet: [], localCseq: 1 };
    return { outcome: 'answered', leg, dialog, refer: () => undefined, onMoved: () => undefined };
  };
}
