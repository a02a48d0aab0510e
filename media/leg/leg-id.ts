/** Ids of legs: the kind of transport, and the number of the leg at its media thread or process. */
import type { Leg } from './leg.ts';

/** Id of a leg on the call loop's side. */
export function legId(kind: Leg['kind'], number: number): string {
  return `${kind}-${number}`;
}

/** Number of a phone's leg on the media thread, from its id; NaN for other legs. */
export function phoneLegNumber(id: string): number {
  const [kind, number] = id.split('-');
  return kind === 'rtp' || kind === 'stream' ? Number(number) : Number.NaN;
}
