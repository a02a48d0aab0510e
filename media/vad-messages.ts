/** What the media thread and the speech detector's thread say to each other. */
import type { VoiceRateHz } from './silero.ts';

/** Media thread → detector. */
export type ToDetector =
  | { readonly type: 'open'; readonly stream: number; readonly rateHz: VoiceRateHz }
  | { readonly type: 'close'; readonly stream: number }
  /** Whole windows of many streams: `heads` names each, `samples` their audio one after the other. */
  | { readonly type: 'windows'; readonly heads: readonly WindowHead[]; readonly samples: Int16Array }
  /** Ends the thread once what is running has run. */
  | { readonly type: 'stop' };

/** Names one window of one stream. */
export interface WindowHead {
  readonly stream: number;
  readonly window: number;
  /** Samples of the window. */
  readonly length: number;
}

/** Detector → media thread. */
export type FromDetector =
  | { readonly type: 'ready' }
  /** The probability of each window of `heads`. */
  | { readonly type: 'scores'; readonly heads: readonly WindowHead[]; readonly probabilities: Float32Array };
