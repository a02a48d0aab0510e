/** Sounds of an outgoing call's far end that are no speech: tones of machines, and the music of a queue. */
import { MusicDetector } from '#media/dsp/music-detector.ts';
import { ToneDetector } from '#media/dsp/tone-detector.ts';
import type { TurnFact } from '../machine/turn-inputs.ts';
import type { TurnState } from '../machine/turn-state.ts';

/** Nearly every frame proves nothing. */
const NOTHING: readonly TurnFact[] = [];

/** Listens to the frames of one call. */
export class LineSounds {
  #tones: ToneDetector | null = null;
  #music: MusicDetector | null = null;

  /** Takes samples in order; returns what they prove. Listens only for sounds that a rule asks for now. */
  listen(
    samples: Int16Array,
    rateHz: number,
    state: Pick<TurnState, 'line' | 'phase' | 'screening'>,
  ): readonly TurnFact[] {
    const { line, phase, screening } = state;
    // Only while an answering machine is still possible.
    const mayBeMachine = screening !== null || phase.is === 'voicemail';
    const mayBeMusic = line !== null && phase.is !== 'voicemail';
    if (!mayBeMachine && !mayBeMusic) return NOTHING;
    const facts: TurnFact[] = [];
    if (mayBeMachine) {
      this.#tones ??= new ToneDetector(rateHz);
      const tone = this.#tones.push(samples);
      if (tone) facts.push({ type: 'tone.heard', tone });
    }
    if (mayBeMusic) {
      this.#music ??= new MusicDetector(rateHz);
      const change = this.#music.push(samples);
      if (change) facts.push({ type: `music.${change}` });
    }
    return facts;
  }
}
