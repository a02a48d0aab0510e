/**
 * A bad network: packets are lost, some of these two in a row, each is late by itself, so that they overtake
 * each other, and some come twice. What happens to the nth packet of a direction is the same for the same
 * seed.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { seededRandom } from '#caller/scene.ts';

/** Of the losses, the share that takes the next packet with it. */
const BURST_SHARE = 1 / 3;
const LOOPBACK = '127.0.0.1';

/** How bad it is. */
interface PathConditions {
  readonly lossShare: number;
  /** Each packet is late by up to this much, ms. */
  readonly jitterMs: number;
  readonly duplicateShare: number;
  readonly seed: number;
}

/** A relay of UDP between two ends on the loopback. */
export interface LossyPath {
  /** Where the near end sends to, and where the far end does. */
  readonly nearPort: number;
  readonly farPort: number;
  /** Names both ends' own ports; what comes before goes nowhere. */
  connect(ends: { readonly near: number; readonly far: number }): void;
  /**
   * The longest time for which an end sent nothing since this was last asked, ms: both send without pause,
   * unless the machine stands still.
   */
  takeStandstillMs(): number;
  close(): void;
}

/** Opens a relay; each direction has a fate of its own. */
export async function openLossyPath(conditions: PathConditions): Promise<LossyPath> {
  const [near, far] = await Promise.all([openSocket(), openSocket()]);
  let directions: Direction[] = [];
  return {
    nearPort: near.address().port,
    farPort: far.address().port,
    connect(ends) {
      directions = [
        new Direction(near, {
          over: far,
          to: ends.far,
          fateOf: fates({ ...conditions, seed: 2 * conditions.seed }),
        }),
        new Direction(far, {
          over: near,
          to: ends.near,
          fateOf: fates({ ...conditions, seed: 2 * conditions.seed + 1 }),
        }),
      ];
    },
    takeStandstillMs: () => Math.max(...directions.map((direction) => direction.takeStandstillMs())),
    close() {
      for (const direction of directions) direction.close();
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
    const [loss, burst, twice, ...delays] = Array.from({ length: 5 }, random) as [
      number,
      number,
      number,
      number,
      number,
    ];
    const isLost = goesOn || loss < beginShare;
    goesOn = isLost && !goesOn && burst < BURST_SHARE;
    if (isLost) return [];
    return delays.slice(0, twice < duplicateShare ? 2 : 1).map((share) => share * jitterMs);
  };
}

async function openSocket(): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.bind(0, LOOPBACK);
  await once(socket, 'listening');
  return socket;
}

/** What goes one way. */
class Direction {
  readonly #onTheirWay = new Set<NodeJS.Timeout>();
  #lastMs = performance.now();
  #standstillMs = 0;

  constructor(
    from: Socket,
    { over, to, fateOf }: { readonly over: Socket; readonly to: number; readonly fateOf: () => number[] },
  ) {
    from.on('message', (datagram) => {
      this.#look();
      for (const delayMs of fateOf()) {
        const timer = setTimeout(() => {
          this.#onTheirWay.delete(timer);
          over.send(datagram, to, LOOPBACK);
        }, delayMs);
        this.#onTheirWay.add(timer);
      }
    });
  }

  takeStandstillMs(): number {
    this.#look();
    const standstillMs = this.#standstillMs;
    this.#standstillMs = 0;
    return standstillMs;
  }

  close(): void {
    for (const timer of this.#onTheirWay) clearTimeout(timer);
  }

  #look(): void {
    const now = performance.now();
    this.#standstillMs = Math.max(this.#standstillMs, now - this.#lastMs);
    this.#lastMs = now;
  }
}
