/** The agent's actions at a moment of a replayed call, in the caller's terms. */
import type { ReplayedCall } from '../api/types.ts';

/** A moment where a call and its replay differ. */
type Moment = NonNullable<NonNullable<ReplayedCall['divergence']>['was']>;

/** By the name of the action in the API. */
export const DEEDS: Readonly<Record<Moment['did'], string>> = {
  generate: 'the agent started preparing an answer',
  play: 'the agent started to speak',
  pause: 'the agent paused',
  resume: 'the agent continued to speak',
  clear: 'the agent stopped speaking',
  transfer: 'the caller was transferred',
  hang_up: 'the agent hung up',
};
