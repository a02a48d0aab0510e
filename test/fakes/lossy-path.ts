/**
 * What a bad network does to packets: some are lost, some of these two in a row, each is late by itself, so that they overtake each other, and some come twice.
 * What happens to the nth packet is the same for the same seed.
 */
import { seededRandom } from '#bench/caller/scene.ts';

/** Of the losses, the share that takes the next packet with it. */
const BURST_SHARE = 1 / 3;

/** How bad it is. */
interface PathConditions {
  readonly lossShare: number;
  /** Each packet is late by up to this much, ms. */
  readonly jitterMs: number;
  readonly duplicateShare: number;
  readonly seed: number;
}

/** The delays of one packet's copies in ms, packet after packet; none when it is lost. */
export function fates({ lossShare, jitterMs, duplicateShare, seed }: PathConditions): () => number[] {
  const random = seededRandom(seed);
  // Every loss that begins takes 1 + BURST_SHARE packets.
  const beginShare = lossShare / (1 + BURST_SHARE - lossShare * BURST_SHARE);
  let goesOn = false;
  return () => {
    // All are drawn each time, so that one packet's fate does not change the next one's.
    const [loss, burst, twice, ...delays] = Array.from({ length: 5 }, random) as [number, number, number, number, number];
    const isLost = goesOn || loss < beginShare;
    goesOn = isLost && !goesOn && burst < BURST_SHARE;
    if (isLost) return [];
    return delays.slice(0, twice < duplicateShare ? 2 : 1).map((share) => share * jitterMs);
  };
}
