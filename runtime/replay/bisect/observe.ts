/** Measures one moment of a call in a run that has come to it. */
import type { TurnInput } from '../../turn/machine/turn-inputs.ts';
import { isCutOff } from '../cut-off.ts';
import type { FreeRun } from '../free-run.ts';
import { isHoldLine, LONGEST_WAIT_MS, pauseFrom } from '../what-if.ts';
import type { Quantity } from './measure.ts';

/** A run before the moment, whose first input has this index. The run takes the inputs of the moment. */
export interface AtMoment {
  readonly run: FreeRun;
  readonly inputs: readonly TurnInput[];
  readonly index: number;
}

/** An overlap is over by then. */
const LONGEST_OVERLAP_MS = 10_000;
/** A version that stops the agent later than the call did it so is given this time. */
const LATER_BY_MS = 2_000;

/**
 * The quantity's value; for `reply_ms` without the time from the taking of the turn to the sound, which is
 * the recorded one. Null if the moment has none: the caller said no word over the agent.
 */
export function observe(quantity: Quantity, at: AtMoment): number | null {
  switch (quantity) {
    case 'wait_ms':
    case 'reply_ms': {
      const { takenAfterMs, wentOnAfterMs } = pauseFrom(at.run, at.inputs, at.index);
      // Not taken before the caller went on: the wait is at least as long as that.
      return takenAfterMs ?? wentOnAfterMs ?? LONGEST_WAIT_MS;
    }
    case 'cut_off':
      // The person who asks has heard that the caller was about to go on.
      return isCutOff(pauseFrom(at.run, at.inputs, at.index, true)) ? 1 : 0;
    case 'hold_line':
      return isHoldLineSpoken(at) ? 1 : 0;
    case 'stopped':
    case 'spoke_on': {
      const { isStopped, hasWords } = overlapFrom(at);
      if (quantity === 'stopped') return isStopped ? 1 : 0;
      return hasWords ? Number(!isStopped) : null;
    }
    default:
      return quantity satisfies never;
  }
}

function isHoldLineSpoken({ run, inputs, index }: AtMoment): boolean {
  const beganMs = inputs[index]?.atMs ?? 0;
  for (let next = index; next < inputs.length; next += 1) {
    const input = inputs[next] as TurnInput;
    if (input.atMs > beganMs + LONGEST_WAIT_MS || (next > index && input.type === 'voice.started')) break;
    for (const step of run.take(input)) if (isHoldLine(step)) return true;
  }
  return false;
}

/** From the caller's voice over the agent's to the end of what the agent says. */
function overlapFrom({ run, inputs, index }: AtMoment): { isStopped: boolean; hasWords: boolean } {
  let untilMs = (inputs[index]?.atMs ?? 0) + LONGEST_OVERLAP_MS;
  let hasWords = false;
  for (let next = index; next < inputs.length; next += 1) {
    const input = inputs[next] as TurnInput;
    if (input.atMs > untilMs || input.type === 'playout.finished') break;
    hasWords ||=
      (input.type === 'transcript.final' || input.type === 'transcript.interim') && input.text !== '';
    if (input.type === 'playout.cleared') {
      // Only the recorded call was silenced here: this run may still be.
      untilMs = Math.min(untilMs, input.atMs + LATER_BY_MS);
      continue;
    }
    for (const { effects } of run.take(input))
      if (effects.some((effect) => effect.do === 'clear')) return { isStopped: true, hasWords: true };
  }
  return { isStopped: false, hasWords };
}
