/**
 * Every state has a deadline that forces it to go on. The machine's table names the timers of the phases; the
 * rules here name those of the caller, of an entry and of the call.
 */
import { PHASE_OWNED, PHASE_TIMERS, phaseDeadline } from '#runtime/turn/machine/phases.ts';
import type { TimerName } from '#runtime/turn/machine/turn-inputs.ts';
import type { Phase, TurnState } from '#runtime/turn/machine/turn-state.ts';

/** Conversation states, in which both sides may speak. */
const TALK: ReadonlySet<Phase['is']> = new Set(['listening', 'answering', 'speaking', 'paused', 'clearing']);

interface Rule {
  readonly what: string;
  readonly holds: (state: TurnState) => boolean;
  /** At least one of these must be running. */
  readonly timers: readonly TimerName[];
}

const isTalk = ({ phase }: TurnState) => TALK.has(phase.is);
const isPhase =
  (...names: readonly Phase['is'][]) =>
  ({ phase }: TurnState) =>
    names.includes(phase.is);

const RULES: readonly Rule[] = [
  {
    what: 'the caller talks',
    holds: (state) => isTalk(state) && state.caller.is === 'talking',
    timers: ['talk'],
  },
  {
    what: 'the caller has stopped',
    holds: (state) => isPhase('listening', 'answering', 'speaking')(state) && state.caller.is === 'stopped',
    timers: ['judge', 'commit'],
  },
  { what: 'silence', holds: isQuiet, timers: ['idle'] },
  { what: 'digits are entered', holds: (state) => isTalk(state) && state.digits !== '', timers: ['keypad'] },
  { what: 'the call is active', holds: isTalk, timers: ['maxDuration'] },
];

function isQuiet({ caller, digits, isLegLost, phase, runningTools }: TurnState): boolean {
  return (
    phase.is === 'listening' &&
    caller.is === 'silent' &&
    digits === '' &&
    !isLegLost &&
    Object.keys(runningTools).length === 0
  );
}

/** Names what could last for ever in this state, and phase timers that run outside their phase. */
export function timerFaults(state: TurnState, running: ReadonlySet<TimerName>): string[] {
  const deadline = phaseDeadline(state);
  const missing = RULES.filter(
    ({ holds, timers }) => !timers.some((timer) => running.has(timer)) && holds(state),
  ).map(({ what }) => what);
  if (deadline !== null && !running.has(deadline)) missing.push(`the phase is ${state.phase.is}`);
  const { owns } = PHASE_TIMERS[state.phase.is];
  const foreign = [...running].filter((timer) => PHASE_OWNED.has(timer) && !owns.includes(timer));
  return [
    ...missing.map((what) => `${what}, without a deadline (timers: ${[...running].join(', ')})`),
    ...foreign.map((timer) => `the timer ${timer} runs in the phase ${state.phase.is}`),
  ];
}
