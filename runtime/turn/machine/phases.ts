/**
 * The only writer of `phase`, and the timers each phase owns. Timers of the caller's side (`judge`, `commit`,
 * `speculate`, `talk`, `unheard`), of an entry (`keypad`), of silence (`idle`), of the recogniser (`reopen`)
 * and of the call (`maxDuration`) belong to no phase: the rules that start them stop them.
 */
import { type Draft, stopTimers } from './draft.ts';
import type { TimerName } from './turn-inputs.ts';
import type { Phase, TurnState } from './turn-state.ts';

interface PhaseTimers<P extends Phase> {
  /** Timers that run in this phase only: leaving it stops those that the next phase does not own. */
  readonly owns: readonly TimerName[];
  /** The timer that guarantees the phase ends; null where another side ends it. */
  readonly deadline: (phase: P) => TimerName | null;
}

const none = () => null;

/** The timers of each phase. */
export const PHASE_TIMERS: { readonly [N in Phase['is']]: PhaseTimers<Extract<Phase, { is: N }>> } = {
  connecting: { owns: ['screening'], deadline: none },
  menu: {
    owns: ['menu'],
    deadline: ({ utterance, after }) => (utterance === null && after === 'input' ? 'menu' : null),
  },
  voicemail: { owns: ['screening'], deadline: ({ isOpen }) => (isOpen ? null : 'screening') },
  listening: { owns: [], deadline: none },
  answering: { owns: ['progress', 'hold'], deadline: () => 'progress' },
  // `hold`: tools may run while other words are still being spoken.
  speaking: { owns: ['progress', 'hold'], deadline: () => 'progress' },
  paused: { owns: ['falseInterruption', 'progress', 'hold'], deadline: () => 'falseInterruption' },
  clearing: { owns: ['progress'], deadline: () => 'progress' },
  transferring: { owns: ['progress'], deadline: ({ utterance }) => (utterance ? 'progress' : null) },
  joined: { owns: [], deadline: none },
  withHuman: { owns: [], deadline: none },
  ending: { owns: ['endCap'], deadline: () => 'endCap' },
  ended: { owns: [], deadline: none },
};

/** Timers owned by any phase. */
export const PHASE_OWNED: ReadonlySet<TimerName> = new Set(
  Object.values(PHASE_TIMERS).flatMap(({ owns }) => owns),
);

/** Enters a phase, or changes the current one. The only writer of `phase`. */
export function enter(draft: Draft, phase: Phase): void {
  const { owns } = PHASE_TIMERS[phase.is];
  if (phase.is !== draft.phase.is)
    for (const name of PHASE_TIMERS[draft.phase.is].owns) if (!owns.includes(name)) stopTimers(draft, name);
  (draft as { phase: Phase }).phase = phase;
}

/** The timer that must be running in a state's phase. */
export function phaseDeadline({ phase }: TurnState): TimerName | null {
  const { deadline } = PHASE_TIMERS[phase.is] as PhaseTimers<Phase>;
  return deadline(phase);
}
