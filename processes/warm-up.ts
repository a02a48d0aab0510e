/**
 * Loads what the first calls of a worker would wait for, once the worker is ready. LiveKit's library is
 * loaded only if the control plane has said that web calls are in rooms.
 */
import type { LegFactory } from '#media/leg/leg-factory.ts';
import type { JobKind } from '#protocol/worker-link.ts';

/** The warm-up of one worker. */
export class WarmUp {
  readonly #media: Pick<LegFactory, 'warmUp'>;
  #hasRooms = false;
  /** The kinds of calls it has been begun for. */
  #kinds: readonly JobKind[] = [];

  constructor(media: Pick<LegFactory, 'warmUp'>) {
    this.#media = media;
  }

  /** The worker is ready for these kinds of calls: loads what they need. */
  begin(kinds: readonly JobKind[]): void {
    this.#kinds = kinds;
    this.#media.warmUp([
      ...(kinds.includes('phone') ? (['rtp'] as const) : []),
      ...(kinds.includes('web') ? ([this.#hasRooms ? 'livekit' : 'webrtc'] as const) : []),
    ]);
  }

  /** Web calls are in rooms; said at each registration. */
  addRooms(): void {
    if (this.#hasRooms) return;
    this.#hasRooms = true;
    if (this.#kinds.includes('web')) this.#media.warmUp(['livekit']);
  }
}
