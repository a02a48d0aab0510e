/** Every state has a deadline that makes it go on: which timer that is, for each of them. */
import type { TimerName } from '#runtime/turn/machine/turn-inputs.ts';
import type { Phase, TurnState } from '#runtime/turn/machine/turn-state.ts';

/** States of a conversation, in which both sides may speak. */
const TALK: ReadonlySet<Phase['is']> = new Set(['listening', 'answering', 'speaking', 'paused', 'clearing']);

interface Rule {
  readonly what: string;
  readonly holds: (state: TurnState) => boolean;
  /** One of them must run. */
  readonly timers: readonly TimerName[];
}

const isTalk = ({ phase }: TurnState) => TALK.has(phase.is);
const isPhase =
  (...names: readonly Phase['is'][]) =>
  ({ phase }: TurnState) =>
    names.includes(phase.is);

const RULES: readonly Rule[] = [
  {
    what: 'the agent has the floor',
    holds: isPhase('answering', 'speaking', 'clearing'),
    timers: ['progress'],
  },
  { what: 'the agent holds its breath', holds: isPhase('paused'), timers: ['falseInterruption'] },
  { what: 'the call is ending', holds: isPhase('ending'), timers: ['endCap'] },
  {
    what: 'a transfer is announced',
    holds: ({ phase }) => phase.is === 'transferring' && phase.utterance !== null,
    timers: ['progress'],
  },
  {
    what: 'a menu waits for input',
    holds: ({ phase }) => phase.is === 'menu' && phase.utterance === null && phase.after === 'input',
    timers: ['menu'],
  },
  {
    what: 'a mailbox is waited for',
    holds: ({ phase }) => phase.is === 'voicemail' && !phase.isOpen,
    timers: ['screening'],
  },
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
  { what: 'nobody speaks', holds: isQuiet, timers: ['idle'] },
  { what: 'digits are entered', holds: (state) => isTalk(state) && state.digits !== '', timers: ['keypad'] },
  { what: 'the call goes on', holds: isTalk, timers: ['maxDuration'] },
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

/** What could last for ever, as only these timers run. */
export function withoutDeadline(state: TurnState, running: ReadonlySet<TimerName>): string[] {
  return RULES.filter(({ holds, timers }) => !timers.some((timer) => running.has(timer)) && holds(state)).map(
    ({ what }) => `${what}, without a deadline (timers: ${[...running].join(', ')})`,
  );
}
