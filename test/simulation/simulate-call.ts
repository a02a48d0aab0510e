/** One simulated call from its seed, and everything that must be true of it. */
import { pino } from 'pino';
import { defaultAgentConfig } from '#config/agent-config.ts';
import { CALL_PLAN_VERSION, type CallPlan } from '#config/call-plan.ts';
import type { SessionItem } from '#config/session-record.ts';
import type { DurableReport } from '#config/worker-link.ts';
import { startCall } from '#runtime/call.ts';
import type { Effect } from '#runtime/turn/turn-effects.ts';
import { createRandom, type Random } from './random.ts';
import { type CallerAct, startSimulatedCaller } from './simulated-caller.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { createSimulatedModel, createSimulatedRecognizer, createSimulatedTools, createSimulatedVoice } from './simulated-engines.ts';
import { createSpokenWords, type PlayedReply, SimulatedLeg } from './simulated-leg.ts';

/** What a simulated call left behind. */
export interface SimulatedCall {
  readonly seed: number;
  readonly reports: readonly DurableReport[];
  readonly live: readonly { readonly atMs: number; readonly event: Record<string, unknown> }[];
  readonly flightLog: readonly Uint8Array[];
  readonly effects: readonly Effect[];
  readonly played: readonly PlayedReply[];
  readonly legViolations: readonly string[];
  readonly acts: readonly CallerAct[];
  readonly isWordTimed: boolean;
  readonly pendingTimers: number;
  readonly endedMs: number | null;
}

const logger = pino({ level: 'silent' });

/** Longest a simulated call may take: the idle hang-up ends those whose caller stays. */
const GIVE_UP_MS = 600_000;

/** Runs the call of a seed. */
export async function simulateCall(seed: number): Promise<SimulatedCall> {
  const random = createRandom(seed);
  const world = new SimulatedClock();
  const clock = world.forCall();
  const words = createSpokenWords();
  const leg = new SimulatedLeg({ clock: world, words, latencyMs: random.pick([0, 1, 5]) });
  const isWordTimed = random.chance(0.7);
  const faults = random.pick([0, 0, 0.05, 0.3, 0.8]);
  const plan = simulatedPlan(random);
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
  let endedMs: number | null = null;
  const model = createSimulatedModel({ clock: world, random: random.fork(), faults, canHangUp: plan.config.tools.system_tools.hang_up_call });
  const call = startCall({
    plan,
    clock,
    logger,
    random: () => random.next(),
    recognizer,
    synthesizer: createSimulatedVoice({ clock: world, random: random.fork(), words, givesWordTimes: isWordTimed }),
    model,
    createTools: () => ({ runner: createSimulatedTools({ clock: world, random: random.fork() }), settle: null }),
    report: (report) => reports.push(structuredClone(report)),
    live: (event) => live.push({ atMs: world.now(), event }),
    saveRecording: () => undefined,
    saveFlightLog: ({ bytes }) => flightLog.push(bytes),
    onEffects: (step) => effects.push(...step),
  });
  void call.ended.then(() => {
    endedMs = world.now();
  });
  call.attach(leg);
  const acts = startSimulatedCaller({ clock: world, random: random.fork(), leg, recognizer, untilMs: random.between(10_000, 70_000) });
  await world.run(() => endedMs !== null, GIVE_UP_MS);
  return {
    seed,
    reports,
    live,
    flightLog,
    effects,
    played: leg.played,
    legViolations: leg.violations,
    acts,
    isWordTimed,
    pendingTimers: clock.pending(),
    endedMs,
  };
}

function simulatedPlan(random: Random): CallPlan {
  const config = defaultAgentConfig({ llmModel: 'simulated/model', asrModel: 'simulated', voiceId: 'default' });
  config.prompt.first_message_mode = random.pick(['off', 'fixed', 'prompt'] as const);
  Object.assign(config.conversation, {
    response_wait_ms: Math.round(random.between(300, 1_500)),
    response_max_wait_ms: random.pick([null, null, 0, 2_000, 4_000]),
    eagerness: random.pick(['relaxed', 'balanced', 'eager'] as const),
    interruptible: random.chance(0.85),
    interruption_sensitivity: random.pick(['low', 'balanced', 'high'] as const),
    interruption_ignore_phrases: random.chance(0.3) ? ['go on', 'no wait'] : [],
    speculative_response: random.chance(0.7),
    reengage_enabled: random.chance(0.5),
    hangup_after_seconds: Math.round(random.between(10, 60)),
    hangup_farewell_enabled: random.chance(0.5),
  });
  config.conversation.keypad_input.enabled = random.chance(0.5);
  Object.assign(config.conversation.keypad_menu, {
    enabled: random.chance(0.2),
    prompt: 'Press one for tables or two for hours.',
    options: [
      { key: '1', label: 'table', value: 'tables' },
      { key: '2', label: 'hours', value: 'hours' },
    ],
    accept_speech: random.chance(0.5),
    no_input_timeout_seconds: Math.round(random.between(1, 10)),
    max_attempts: Math.round(random.between(1, 3)),
  });
  config.tools.system_tools.hang_up_call = random.chance(0.4);
  config.tools.system_tools.hang_up_call_farewell_mode = random.pick(['generated', 'fixed', 'off'] as const);
  config.tools.system_tools.hang_up_call_farewell_message = 'Good bye to you.';
  config.tools.system_tools.hang_up_call_refuse_questions = random.chance(0.3);
  return {
    version: CALL_PLAN_VERSION,
    session_id: 'simulated',
    agent_id: 'agent',
    agent_name: 'Agent',
    channel: 'phone_inbound',
    config,
    variables: {},
    system_variables: {
      channel: 'phone_inbound',
      timezone: 'UTC',
      today: '2026-01-01',
      language: 'en',
      caller_number: '',
      dialed_number: '',
      caller_number_spoken: '',
    },
    first_message_override: null,
    tools: [],
    knowledge: [],
    llm_api_key: null,
    llm_extra_body: null,
    end_user_id: null,
    record_audio: false,
    tool_events: true,
    world_context: false,
    max_duration_seconds: random.chance(0.1) ? 60 : 300,
    is_preview: false,
    transfer: null,
    transport: { type: 'sip_inbound', sip_call_id: 'x', from_number: '', to_number: '' },
  };
}

/** The longest the caller may hear nothing after its turn was taken. */
const LONGEST_SILENCE_MS = 8_000;
/** Words by which an estimate may miss what was heard. */
const ESTIMATE_MISSES = 3;

/** Everything wrong with a call; empty when nothing is. */
export function violations(call: SimulatedCall): string[] {
  return [...call.legViolations, ...endViolations(call), ...transcriptViolations(call), ...latencyViolations(call), ...silenceViolations(call)];
}

function endViolations({ endedMs, pendingTimers, reports }: SimulatedCall): string[] {
  const found: string[] = [];
  if (endedMs === null) found.push('the call never ended');
  if (pendingTimers > 0) found.push(`${pendingTimers} timers leaked`);
  const ended = reports.filter(({ type }) => type === 'ended').length;
  if (ended !== 1 || reports.at(-1)?.type !== 'ended') found.push('`ended` is not the one last report');
  const last = reports.at(-1);
  if (last?.type === 'ended' && last.end_reason === 'internal_error') found.push('the call broke');
  return found;
}

/** The agent's messages are the words that were played, reply by reply in their order. */
function transcriptViolations({ isWordTimed, played, reports }: SimulatedCall): string[] {
  const items = reports.flatMap((report): SessionItem[] => (report.type === 'items' ? report.items : []));
  const written = new Set(items.flatMap((item) => (item.type === 'message' && item.role === 'assistant' ? [item.id] : [])));
  const messages = items.flatMap((item) => (item.type === 'message' && item.role === 'assistant' ? [item.content] : []));
  const found: string[] = [];
  if (written.size !== messages.length) found.push('a message was written twice');
  // Written replies (audio: false) are on the timeline but were never played.
  let next = 0;
  for (const { replyId, words } of played) {
    const heard = words.join(' ');
    const said = messages.slice(next).findIndex((message) => isSame(message, heard, isWordTimed));
    if (said < 0 && words.length > (isWordTimed ? 0 : ESTIMATE_MISSES))
      found.push(`${replyId}: heard "${heard}", not in ${JSON.stringify(messages.slice(next, next + 3))}`);
    if (said >= 0) next += said + 1;
  }
  return found;
}

function isSame(message: string, heard: string, isExact: boolean): boolean {
  if (isExact) return message === heard;
  const [shorter, longer] = message.length < heard.length ? [message, heard] : [heard, message];
  return longer.startsWith(shorter) && shorter !== '' && longer.slice(shorter.length).split(' ').length - 1 <= ESTIMATE_MISSES;
}

function latencyViolations({ reports }: SimulatedCall): string[] {
  return reports.flatMap((report) => {
    if (report.type !== 'turn') return [];
    const { endpoint_ms, first_audio_ms, first_sentence_ms, first_token_ms, playout_ms, total_ms, transcript_ms, turn_id } = report.latency;
    const parts = [endpoint_ms, transcript_ms, first_token_ms, first_sentence_ms, first_audio_ms, playout_ms];
    const sum = parts.reduce((total, part) => total + part, 0);
    return Math.abs(sum - total_ms) <= 1 && parts.every((part) => part >= 0) ? [] : [`turn ${turn_id}: parts sum to ${sum} of ${total_ms}`];
  });
}

/** After a turn is taken the caller hears something, does something, or the call ends. */
function silenceViolations({ acts, endedMs, live, played }: SimulatedCall): string[] {
  const taken = live.filter(({ event }) => event['type'] === 'transcript' && event['role'] === 'user' && event['final'] === true);
  const written = live.filter(({ event }) => event['type'] === 'transcript' && event['role'] === 'agent').map(({ atMs }) => atMs);
  return taken.flatMap(({ atMs, event }) => {
    const isBy = (time: number | null) => time !== null && time >= atMs && time <= atMs + LONGEST_SILENCE_MS;
    const isAnswered = played.some(({ startedMs }) => isBy(startedMs)) || written.some(isBy) || acts.some((act) => isBy(act.atMs)) || isBy(endedMs);
    return isAnswered ? [] : [`nothing followed the turn "${String(event['text'])}" taken at ${atMs}`];
  });
}
