/** What was heard of both sides of a call: its silences, and when both spoke at once. */
import type { Effect } from '../machine/turn-effects.ts';
import type { TurnInput } from '../machine/turn-inputs.ts';
import { type NotedOverlap, OverlapLog } from './overlap-log.ts';
import { type NotedSilence, SilenceLog } from './silence-log.ts';

/** What one step of the machine ended; null where nothing. */
export interface NotedSounds {
  readonly silence: NotedSilence | null;
  readonly overlap: NotedOverlap | null;
}

/** The silences and overlaps of one call. */
export class SoundLog {
  readonly #silences = new SilenceLog();
  readonly #overlaps = new OverlapLog();

  /** Observes one step of the machine. */
  observe(input: TurnInput, effects: readonly Effect[]): NotedSounds {
    return {
      silence: this.#silences.observe(input, effects),
      overlap: this.#overlaps.observe(input, effects),
    };
  }
}
