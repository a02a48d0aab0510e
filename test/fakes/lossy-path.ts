/**
 * A bad network: packets are lost, sometimes two in a row; each has its own delay, which reorders them; and
 * some are duplicated. With the same seed, the nth packet of a direction always has the same fate.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { seededRandom } from '#caller/scene.ts';

/** Share of losses that also drop the next packet. */
const BURST_SHARE = 1 / 3;
const LOOPBACK = '127.0.0.1';

/** Impairments of the path. */
interface PathConditions {
  readonly lossShare: number;
  /** Maximum delay of each packet, ms. */
  readonly jitterMs: number;
  readonly duplicateShare: number;
  readonly seed: number;
}

/** A UDP relay between two ends on the loopback. */
export interface LossyPath {
  /** Ports that the near and the far end send to. */
  readonly nearPort: number;
  readonly farPort: number;
  /** Sets both ends' own ports; packets that arrive earlier are dropped. */
  connect(ends: { readonly near: number; readonly far: number }): void;
  /**
   * Longest pause in an end's sending since the last call, ms. Both ends send continuously, so a pause means
   * that the machine stalled.
   */
  takeStandstillMs(): number;
  close(): void;
}

/** Opens a relay; the directions are impaired independently. */
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

/** Returns, for one packet after another, the delays of its copies in ms; empty when it is lost. */
export function fates({ lossShare, jitterMs, duplicateShare, seed }: PathConditions): () => number[] {
  const random = seededRandom(seed);
  // Each loss drops 1 + BURST_SHARE packets on average.
  const beginShare = lossShare / (1 + BURST_SHARE - lossShare * BURST_SHARE);
  let goesOn = false;
  return () => {
    // Always draws all numbers, so one packet's fate does not affect the next.
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

/** One direction of the relay. */
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
