/**
 * The table of the machine's timers: those a phase owns, which `enter` starts and stops, and those of the
 * conversation, which run across phases and belong to the rules that start them.
 */
import { awaitsLine, isAutomated, TALK } from './line-state.ts';
import type { TurnConfig } from './turn-config.ts';
import type { TimerName } from './turn-inputs.ts';
import type { Phase, TurnState } from './turn-state.ts';

/** Longest silence of the agent while it has the floor before the watchdog acts. */
export const PROGRESS_MS = 3_500;
/** Longest wait of a paused agent for words before it resumes. */
export const FALSE_INTERRUPTION_MS = 900;
/** Longest wait for the announcement of a transfer to become audible. */
const ANNOUNCEMENT_STARTS_WITHIN_MS = 8_000;
/** Longest wait for the farewell to become audible. */
const FAREWELL_STARTS_WITHIN_MS = 8_000;
/** Longest wait for the leg to report what was heard of stopped speech. */
const CLEARED_WITHIN_MS = 500;

/** What a due time is computed from. */
interface Moment {
  readonly atMs: number;
  readonly config: TurnConfig;
  readonly progressMs: number;
}

interface PhaseTimers<P extends Phase> {
  /** The timers that may run in the phase. */
  readonly owns: readonly TimerName[];
  /**
   * The timer that guarantees that the phase ends; null where another side ends it. It starts when the phase
   * is entered or comes to need it, and stops when the phase no longer does.
   */
  readonly deadline: (phase: P) => TimerName | null;
  /** When that timer is due. */
  readonly dueMs: (phase: P, moment: Moment) => number;
}

const NO_TIMERS = { owns: [], deadline: () => null, dueMs: () => Number.POSITIVE_INFINITY } as const;

/** The watchdog: the agent must be heard again in time. */
const watchdog: Pick<PhaseTimers<Phase>, 'deadline' | 'dueMs'> = {
  deadline: () => 'progress',
  dueMs: (_phase, { progressMs }) => progressMs + PROGRESS_MS,
};

/** The timers of each phase. */
export const PHASE_TIMERS = {
  // `screening` starts with the connection, for outbound calls only: it ends the wait for an extension, and
  // then judges who answered. Until then the leg ends the phase.
  connecting: {
    owns: ['screening'],
    deadline: ({ extension }) => (extension ? 'screening' : null),
    dueMs: ({ extension }) => extension?.dueMs ?? Number.POSITIVE_INFINITY,
  },
  menu: {
    owns: ['menu'],
    // While the prompt plays there is none; a prompt that was cut must be reported in time.
    deadline: ({ utterance, after }) => ((utterance === null) === (after === 'input') ? 'menu' : null),
    dueMs: ({ utterance }, { atMs, config }) =>
      atMs + (utterance === null ? (config.menu?.noInputMs ?? 0) : CLEARED_WITHIN_MS),
  },
  voicemail: {
    owns: ['screening'],
    deadline: () => 'screening',
    // Until it records, the end of its greeting; then a message that is still being composed.
    dueMs: ({ capMs, openMs }, { config }) => (openMs === null ? capMs : openMs + config.generationCapMs),
  },
  listening: NO_TIMERS,
  // `hold`: for a caller who waits for words. Tools may also run while other words are being spoken.
  answering: { owns: ['progress', 'hold'], ...watchdog },
  speaking: { owns: ['progress', 'hold'], ...watchdog },
  paused: {
    owns: ['falseInterruption', 'hold'],
    deadline: () => 'falseInterruption',
    dueMs: ({ sinceMs }) => sinceMs + FALSE_INTERRUPTION_MS,
  },
  clearing: { owns: ['progress'], ...watchdog },
  pressing: { owns: ['progress'], ...watchdog, dueMs: ({ dueMs }) => dueMs },
  transferring: {
    owns: ['progress'],
    // Without an announcement the transfer runs, which has deadlines of its own.
    deadline: ({ utterance }) => (utterance ? 'progress' : null),
    dueMs: (_phase, { atMs }) => atMs + ANNOUNCEMENT_STARTS_WITHIN_MS,
  },
  joined: NO_TIMERS,
  withHuman: NO_TIMERS,
  ending: {
    owns: ['endCap'],
    deadline: () => 'endCap',
    dueMs: ({ utterance }, { atMs }) => atMs + (utterance ? FAREWELL_STARTS_WITHIN_MS : CLEARED_WITHIN_MS),
  },
  ended: NO_TIMERS,
} as const satisfies { readonly [N in Phase['is']]: PhaseTimers<Extract<Phase, { is: N }>> };

/** A timer that belongs to phases. */
export type PhaseTimer = (typeof PHASE_TIMERS)[Phase['is']]['owns'][number];
/** A timer that runs across phases. */
export type ConversationTimer = Exclude<TimerName, PhaseTimer>;

/** The row of a phase. */
export function timersOf(phase: Phase): PhaseTimers<Phase> {
  return PHASE_TIMERS[phase.is] as PhaseTimers<Phase>;
}

interface ConversationRow {
  /** What the timers belong to. */
  readonly of: string;
  readonly owns: readonly ConversationTimer[];
  /** In these states at least one of `deadlines` must be running; never, if absent. */
  readonly lasts?: (state: TurnState) => boolean;
  readonly deadlines?: readonly ConversationTimer[];
}

/**
 * Phases in which both sides may speak, and those in which the call's time limit counts as well; it waits
 * during a human takeover.
 */
const LIMITED: ReadonlySet<Phase['is']> = new Set([...TALK, 'menu', 'voicemail', 'transferring']);

/**
 * The timers of the conversation. Not started by `enter`: the caller speaks, stops and types in any phase,
 * and the time limit runs from the connection to the end.
 */
export const CONVERSATION_TIMERS = [
  {
    of: 'a talking caller',
    owns: ['talk'],
    lasts: ({ phase, caller }) => TALK.has(phase.is) && caller.is === 'talking',
    deadlines: ['talk'],
  },
  {
    of: 'a caller who has stopped',
    owns: ['judge', 'commit', 'speculate'],
    // A paused or cut agent has a deadline of its own, after which the turn is settled.
    lasts: ({ phase, caller }) =>
      (phase.is === 'listening' || phase.is === 'answering' || phase.is === 'speaking') &&
      caller.is === 'stopped',
    deadlines: ['judge', 'commit'],
  },
  { of: 'words that did not arrive', owns: ['unheard'] },
  { of: 'silence on both sides', owns: ['idle'], lasts: isQuiet, deadlines: ['idle'] },
  { of: 'an automated line', owns: ['line'], lasts: awaitsLine, deadlines: ['line'] },
  {
    of: 'an entry of digits',
    owns: ['keypad'],
    lasts: ({ phase, digits }) => TALK.has(phase.is) && digits !== '',
    deadlines: ['keypad'],
  },
  {
    of: 'a failed recogniser',
    owns: ['reopen'],
    lasts: ({ phase, recognizer }) => TALK.has(phase.is) && recognizer.is === 'reopening',
    deadlines: ['reopen'],
  },
  {
    of: 'the call',
    owns: ['maxDuration'],
    lasts: ({ phase }) => LIMITED.has(phase.is),
    deadlines: ['maxDuration'],
  },
] as const satisfies readonly ConversationRow[];

/**
 * The timers that stop when the caller is no longer listened to. The call's time limit may run on, and the
 * rules of automated lines, which few calls have, stop their own.
 */
export const LISTENING_TIMERS: readonly ConversationTimer[] = CONVERSATION_TIMERS.flatMap(({ of, owns }) =>
  of === 'the call' || of === 'an automated line' ? [] : owns,
);

/** Neither side speaks, both can hear each other, and nothing that either waits for is on its way. */
export function isQuiet({
  caller,
  digits,
  isLegLost,
  line,
  phase,
  runningTools,
}: Pick<TurnState, 'caller' | 'digits' | 'isLegLost' | 'line' | 'phase' | 'runningTools'>): boolean {
  return (
    phase.is === 'listening' &&
    !isAutomated(line) &&
    caller.is === 'silent' &&
    !isLegLost &&
    digits === '' &&
    Object.keys(runningTools).length === 0
  );
}
