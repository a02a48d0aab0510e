/**
 * Cuts an object of a recording or flight log into the pieces that were signed while the call ran. Pieces
 * that were not, because their worker died before it could report them, stay together.
 */
import type { Addition } from '#protocol/call-chain.ts';
import type { Pieces } from './stored-pieces.ts';

/** One or more consecutive pieces of an object. */
export interface Cut {
  readonly piece: number;
  readonly pieces: number;
  /** As it was signed; null if it was not. */
  readonly signed: Addition | null;
}

/** Cuts an object; `signedAs` has what was signed of a piece. */
export function cutObject(
  { index, pieces }: Pieces,
  signedAs: (piece: number) => Addition | undefined,
): Cut[] {
  const signed = Array.from({ length: pieces }, (_, at) => signedAs(index + at) ?? null);
  const cut = (one: Addition | null, at: number): Cut => ({ piece: index + at, pieces: 1, signed: one });
  const [first, last] = [signed.indexOf(null), signed.lastIndexOf(null)];
  if (first < 0) return signed.map(cut);
  return [
    ...signed.slice(0, first).map(cut),
    { piece: index + first, pieces: last + 1 - first, signed: null },
    ...signed.slice(last + 1).map((one, at) => cut(one, last + 1 + at)),
  ];
}

/**
 * The bytes of a cut in its object. What was not signed has the bytes that are left, and the last one if all
 * were: an object that has become longer is not as it was signed.
 */
export function bytesOfCut(cuts: readonly Cut[], at: number, object: Uint8Array): Uint8Array {
  const rest = cuts.findIndex(({ signed }) => !signed);
  const flexible = rest < 0 ? cuts.length - 1 : rest;
  const sizeOf = (some: readonly Cut[]) => some.reduce((sum, { signed }) => sum + (signed?.bytes ?? 0), 0);
  const from = at <= flexible ? sizeOf(cuts.slice(0, at)) : object.length - sizeOf(cuts.slice(at));
  const to = at < flexible ? sizeOf(cuts.slice(0, at + 1)) : object.length - sizeOf(cuts.slice(at + 1));
  return object.subarray(Math.max(0, from), Math.max(0, from, to));
}
