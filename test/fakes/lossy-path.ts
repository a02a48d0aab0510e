/**
 * A bad network between two UDP ends: packets are lost, some two in a row, each is late by itself, so that they overtake each other, and some come twice.
 * What happens to the nth packet of a direction is the same for the same seed.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { seededRandom } from '#bench/caller/scene.ts';
import { systemClock, type Timer } from '#config/clock.ts';

/** Of the losses, the share that takes the next packet with it. */
const BURST_SHARE = 1 / 3;
const LOOPBACK = '127.0.0.1';

/** What happens to packets. */
export interface PathConditions {
  readonly lossShare: number;
  /** Each packet is late by up to this much, ms. */
  readonly jitterMs: number;
  readonly duplicateShare: number;
  readonly seed: number;
}

/** A path that is open. */
export interface LossyPath {
  /** Where the near end sends to, and where the far end does. */
  readonly nearPort: number;
  readonly farPort: number;
  /** Names both ends' own ports; nothing passes before. */
  connect(ends: { readonly near: number; readonly far: number }): void;
  /** Packets that went in, of both directions, and what became of them. */
  readonly counts: { taken: number; lost: number; doubled: number };
  close(): void;
}

/** Opens a path on the loopback. */
export async function openLossyPath(conditions: PathConditions): Promise<LossyPath> {
  const [near, far] = [createSocket('udp4'), createSocket('udp4')];
  for (const socket of [near, far]) socket.bind(0, LOOPBACK);
  await Promise.all([near, far].map((socket) => once(socket, 'listening')));
  const counts = { taken: 0, lost: 0, doubled: 0 };
  const ends = { near: 0, far: 0 };
  const onTheirWay = new Set<Timer>();
  const carry = (from: typeof near, to: typeof near, portOf: () => number, seed: number) => {
    const fateOf = fates({ ...conditions, seed });
    from.on('message', (datagram) => {
      if (portOf() === 0) return;
      const delaysMs = fateOf();
      counts.taken++;
      if (delaysMs.length === 0) counts.lost++;
      if (delaysMs.length > 1) counts.doubled++;
      for (const delayMs of delaysMs) {
        const timer = systemClock.after(delayMs, () => {
          onTheirWay.delete(timer);
          to.send(datagram, portOf(), LOOPBACK);
        });
        onTheirWay.add(timer);
      }
    });
  };
  carry(near, far, () => ends.far, 2 * conditions.seed);
  carry(far, near, () => ends.near, 2 * conditions.seed + 1);
  return {
    nearPort: near.address().port,
    farPort: far.address().port,
    connect: (named) => void Object.assign(ends, named),
    counts,
    close() {
      for (const timer of onTheirWay) timer.cancel();
      near.close();
      far.close();
    },
  };
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
