/** No state lasts for ever, and no phase's timer runs outside it: the machine's table of timers, checked. */
import { CONVERSATION_TIMERS, PHASE_TIMERS, timersOf } from '#runtime/turn/machine/timers.ts';
import type { TimerName } from '#runtime/turn/machine/turn-inputs.ts';
import type { Phase, TurnState } from '#runtime/turn/machine/turn-state.ts';

const OWNED_BY_PHASES: ReadonlySet<TimerName> = new Set(
  Object.values(PHASE_TIMERS).flatMap(({ owns }): readonly TimerName[] => owns),
);

/** Only these phases may be without a deadline, because the caller, the leg or a colleague ends them. */
const OPEN_ENDED: ReadonlySet<Phase['is']> = new Set([
  'connecting',
  'menu',
  'listening',
  'transferring',
  'joined',
  'withHuman',
  'ended',
]);

/** Lists what could last for ever in this state, and timers of a phase that run outside it. */
export function timerFaults(state: TurnState, running: ReadonlySet<TimerName>): string[] {
  const { deadline, owns } = timersOf(state.phase);
  const due = deadline(state.phase);
  const isLimited = due === null ? OPEN_ENDED.has(state.phase.is) : running.has(due);
  const unlimited = [
    ...(!isLimited ? [`the phase ${state.phase.is}`] : []),
    ...CONVERSATION_TIMERS.filter(
      (row) => 'lasts' in row && row.lasts(state) && !row.deadlines.some((timer) => running.has(timer)),
    ).map(({ of }) => of),
  ];
  const foreign = [...running].filter((timer) => OWNED_BY_PHASES.has(timer) && !owns.includes(timer));
  return [
    ...unlimited.map((what) => `${what} has no deadline (timers: ${[...running].join(', ')})`),
    ...foreign.map((timer) => `the timer ${timer} runs in the phase ${state.phase.is}`),
  ];
}
