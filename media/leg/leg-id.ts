/** Ids of legs: the kind of transport, and the number of the leg at its media thread or process. */
import type { Leg } from './leg.ts';

/** Id of a leg on the call loop's side. */
export function legId(kind: Leg['kind'], number: number): string {
  return `${kind}-${number}`;
}

/** Number of an RTP leg, from its id; NaN for other legs. */
export function rtpLegNumber(id: string): number {
  return id.startsWith('rtp-') ? Number(id.slice('rtp-'.length)) : Number.NaN;
}
