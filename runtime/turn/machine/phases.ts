/** The only writer of `phase`. Entering a phase starts its deadline; leaving it stops its timers. */
import type { Draft } from './draft.ts';
import { type PhaseTimer, timersOf } from './timers.ts';
import type { Phase } from './turn-state.ts';

/** Enters a phase, or changes the current one. */
export function enter(draft: Draft, phase: Phase): void {
  const [left, entered] = [timersOf(draft.phase), timersOf(phase)];
  const [was, due] = [left.deadline(draft.phase), entered.deadline(phase)];
  for (const name of left.owns)
    if (name !== due && (name === was || !entered.owns.includes(name)))
      draft.effects.push({ do: 'stopTimer', name });
  const isNew = was === null || phase.is !== draft.phase.is;
  (draft as { phase: Phase }).phase = phase;
  if (due !== null && isNew)
    draft.effects.push({ do: 'startTimer', name: due, atMs: entered.dueMs(phase, draft) });
}

/** Starts or moves a timer of the current phase. Throws if the phase does not own it. */
export function startPhaseTimer(draft: Draft, name: PhaseTimer, atMs: number): void {
  if (!timersOf(draft.phase).owns.includes(name))
    throw new Error(`the timer ${name} does not belong to the phase ${draft.phase.is}`);
  draft.effects.push({ do: 'startTimer', name, atMs });
}

/** Restarts the phase's deadline: it waits for something else from now on. */
export function restartDeadline(draft: Draft): void {
  const { deadline, dueMs } = timersOf(draft.phase);
  const name = deadline(draft.phase);
  if (name !== null) draft.effects.push({ do: 'startTimer', name, atMs: dueMs(draft.phase, draft) });
}

/** Stops a timer of the current phase before the phase ends. */
export function stopPhaseTimer(draft: Draft, name: PhaseTimer): void {
  draft.effects.push({ do: 'stopTimer', name });
}
