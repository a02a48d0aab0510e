/**
 * Signs of life of the workers of all replicas. Each replica lists the workers connected to it in its entry
 * of the register, in the database, where every replica can read it. So a replica that cannot hear another
 * one over Redis still knows which workers are alive.
 */
import type { Clock } from '#base/clock.ts';
import type { SignallingReport } from '#protocol/worker-watch.ts';
import type { ReplicaDocument } from './models/replica-model.ts';
import type { Models } from './models.ts';
import { readStored } from './read-stored.ts';

/** A replica that refreshed its entry within this time may be alive; allows for clock differences. */
const RECENT_MS = 60_000;

/** Contents of the register of replicas at one check. */
export interface Sightings {
  /** Connected workers. */
  readonly workers: ReadonlySet<string>;
  /** Reports of signalling servers. */
  readonly signalling: readonly SignallingReport[];
  /**
   * When a replica last listed a worker, by that replica's clock, whether or not the replica is alive; null
   * if no entry names it.
   */
  readonly listedAt: (instanceId: string) => Date | null;
}

/** Reads the register repeatedly. */
export class WorkerSightings {
  readonly #models: Pick<Models, 'replicas'>;
  /** `seen_at` of each replica at the last look, Unix ms. */
  #seenAt = new Map<string, number>();

  constructor({ models }: { readonly models: Pick<Models, 'replicas'> }) {
    this.#models = models;
  }

  /**
   * The workers of the replicas that have refreshed their entry since the last look, and what signalling has
   * told these replicas. Changes are compared instead of times, because the clocks of two machines differ.
   * Rejects if the database cannot be read.
   */
  async look(): Promise<Sightings> {
    const replicas = await this.#read();
    const refreshed = this.#refreshed(replicas);
    this.#seenAt = new Map(replicas.map(({ _id, seen_at }) => [_id, seen_at.getTime()]));
    return {
      workers: new Set(refreshed.flatMap(({ workers = [] }) => workers)),
      signalling: refreshed.flatMap(({ signalling = [] }) => signalling),
      listedAt: (instanceId) => listedAt(replicas, instanceId),
    };
  }

  /** Whether a replica has listed the worker since the last look; the next look finds it, too. */
  async hasSince(instanceId: string): Promise<boolean> {
    return this.#refreshed(await this.#read()).some(({ workers = [] }) => workers.includes(instanceId));
  }

  #read(): Promise<ReplicaDocument[]> {
    const projection = { seen_at: 1, workers: 1, left: 1, signalling: 1 };
    return readStored(this.#models.replicas, {}, { projection });
  }

  #refreshed(replicas: readonly ReplicaDocument[]): readonly ReplicaDocument[] {
    return replicas.filter(({ _id, seen_at }) => this.#seenAt.get(_id) !== seen_at.getTime());
  }
}

function listedAt(replicas: readonly ReplicaDocument[], instanceId: string): Date | null {
  const times = replicas.flatMap(({ workers = [], left = [], seen_at }) => [
    ...(workers.includes(instanceId) ? [seen_at.getTime()] : []),
    ...left.flatMap(({ worker, at }) => (worker === instanceId ? [at.getTime()] : [])),
  ]);
  return times.length === 0 ? null : new Date(Math.max(...times));
}

/** The workers of all replicas that may be alive. */
export async function listedWorkers({
  models,
  clock,
}: {
  readonly models: Pick<Models, 'replicas'>;
  readonly clock: Clock;
}): Promise<readonly string[]> {
  const after = new Date(clock.wallTime() - RECENT_MS);
  return (await models.replicas.distinct('workers', { seen_at: { $gt: after } })) as string[];
}
