/**
 * Workers of the other replicas. Once a second each replica announces its connected workers and their free
 * slots, and it forwards requests of other replicas to them. This uses `Coordination` and nothing is durable:
 * lost announcements are repeated, lost requests time out, and session state is in the database.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { fault } from '#config/errors.ts';
import {
  type ControlMessage,
  type ControlRequest,
  controlMessage,
  jobKind,
  type WorkerAnswer,
  workerAnswer,
} from '#protocol/worker-link.ts';
import { ANSWER_MS, type JobOffer, type Placement } from '../../platform/dispatch.ts';
import type { Coordination, Json } from '../../platform/store/coordination.ts';
import { takesOffer } from './slots.ts';

/** Interval between a replica's announcements. */
const NEWS_MS = 1_000;
/** A replica that has announced nothing for this long is dead or unreachable. */
const SILENT_MS = 5_000;
/** The other replica offers a job to its workers in turn, with half a second for each. */
const PLACE_MS = 3_000;
/** Added to the other replica's own timeout, so that its answer arrives first. */
const ASK_MARGIN_MS = 1_000;
const NEWS_CHANNEL = 'replicas';

const offerSchema = z.object({
  sessionId: z.string(),
  epoch: z.number().int(),
  kind: jobKind,
  sipCallId: z.string().nullable(),
  route: z
    .object({ workerTags: z.array(z.string()).readonly().nullable(), server: z.string().nullable() })
    .nullish(),
  needsReady: z.boolean().optional(),
  isMediaStream: z.boolean().optional(),
});
const placementSchema = z.object({
  instanceId: z.string(),
  supervisorRun: z.string().nullable(),
  sipTag: z.string().nullable(),
  /** A replica of an older version cannot pass the stream on. */
  takesStream: z.boolean().optional(),
});
const newsSchema = z.object({
  replica: z.string(),
  workers: z.array(
    z.object({
      instanceId: z.string(),
      kinds: z.array(jobKind),
      takesText: z.boolean().optional(),
      judgesPauses: z.boolean().optional(),
      rehearses: z.boolean().optional(),
      judgesTurns: z.boolean().optional(),
      measuresRegret: z.boolean().optional(),
      asksOfTestCalls: z.boolean().optional(),
      sendsSip: z.boolean().optional(),
      joinsMediaStreams: z.boolean().optional(),
      freeSlots: z.number(),
      capacity: z.number().default(0),
      isWebReady: z.boolean().default(true),
    }),
  ),
});
const letterSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('tell'), instanceId: z.string(), message: controlMessage }),
  z.object({ type: z.literal('place'), request: z.string(), from: z.string(), offer: offerSchema }),
  z.object({ type: z.literal('placed'), request: z.string(), placement: placementSchema.nullable() }),
  z.object({
    type: z.literal('ask'),
    request: z.string(),
    from: z.string(),
    instanceId: z.string(),
    message: controlMessage,
  }),
  z.object({ type: z.literal('answered'), request: z.string(), answer: workerAnswer.nullable() }),
]);

type News = z.output<typeof newsSchema>;
type Letter = z.output<typeof letterSchema>;

/** The workers connected to this replica. */
export interface OwnWorkers {
  describe(): News['workers'];
  /** Offers a job to these workers only; null when none takes it. */
  placeHere(offer: JobOffer): Promise<Placement | null>;
  /** Sends to one of these workers; does nothing when it is gone. */
  tellHere(instanceId: string, message: ControlMessage): void;
  /** Sends a request and waits for its answer; null when there is none. */
  askHere(instanceId: string, message: ControlMessage): Promise<WorkerAnswer | null>;
}

/** Access to the workers of the other replicas. */
export interface OtherReplicas {
  /**
   * Subscribes to the other replicas; resolves once subscribed, or at once while Redis is away. Until then
   * none of their workers are known.
   */
  join(): Promise<void>;
  /** True when another replica has announced this worker within the last seconds. */
  holds(instanceId: string): boolean;
  /** False if this is the only replica. */
  readonly mayExist: boolean;
  /** Ids of all workers connected to other replicas. */
  instanceIds(): readonly string[];
  /** The last announced state of those workers. */
  workers(): News['workers'];
  /** How many workers each of the other replicas has. */
  workerCounts(): readonly number[];
  /**
   * Offers a job to one replica after another, starting with the most free slots; null when none takes it.
   */
  place(offer: JobOffer): Promise<Placement | null>;
  /** Forwards a message to a worker. Throws `gateway_unreachable` when no replica is connected to it. */
  tell(instanceId: string, message: ControlMessage): void;
  /**
   * Forwards a request and resolves with its answer, or null. Throws `gateway_unreachable` when no replica is
   * connected to the worker.
   */
  ask(instanceId: string, message: ControlRequest): Promise<WorkerAnswer | null>;
  /** Announces a change of this replica's workers to the others at once. */
  changed(): void;
  close(): Promise<void>;
}

/** Dependencies: this replica's workers and the connection to the other replicas. */
export interface SharedReplicasDeps {
  readonly coordination: Coordination;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly own: OwnWorkers;
}

/** For a deployment with a single replica. */
export const NO_OTHER_REPLICAS: OtherReplicas = {
  join: async () => undefined,
  holds: () => false,
  mayExist: false,
  instanceIds: () => [],
  workers: () => [],
  workerCounts: () => [],
  place: async () => null,
  tell() {
    throw fault('gateway_unreachable');
  },
  ask: async () => {
    throw fault('gateway_unreachable');
  },
  changed: () => undefined,
  close: async () => undefined,
};

/** For replicas that share one `Coordination`. */
export class SharedReplicas implements OtherReplicas {
  readonly mayExist = true;
  readonly #deps: SharedReplicasDeps;
  readonly #id = randomUUID();
  readonly #newest = new Map<string, { readonly workers: News['workers']; readonly heardMs: number }>();
  readonly #waiting = new Map<string, (letter: Letter | null) => void>();
  readonly #ends: (() => Promise<void>)[] = [];

  constructor(deps: SharedReplicasDeps) {
    this.#deps = deps;
  }

  async join(): Promise<void> {
    const { coordination, clock } = this.#deps;
    this.#ends.push(
      await coordination.subscribe(channelOf(this.#id), (message) => this.#receive(message)),
      await coordination.subscribe(NEWS_CHANNEL, (message) => this.#hear(message)),
    );
    const tick = clock.every(NEWS_MS, () => this.changed());
    this.#ends.push(async () => tick.cancel());
    this.changed();
  }

  holds(instanceId: string): boolean {
    return this.#holderOf(instanceId) !== undefined;
  }

  instanceIds(): readonly string[] {
    return this.workers().map((worker) => worker.instanceId);
  }

  workers(): News['workers'] {
    return this.#others().flatMap(({ workers }) => workers);
  }

  workerCounts(): readonly number[] {
    return this.#others().map(({ workers }) => workers.length);
  }

  async place(offer: JobOffer): Promise<Placement | null> {
    const room = (workers: News['workers']) =>
      Math.max(
        -1,
        ...workers.filter((worker) => takesOffer(worker, offer)).map(({ freeSlots }) => freeSlots),
      );
    const candidates = this.#others()
      .map(({ replica, workers }) => ({ replica, room: room(workers) }))
      .filter((candidate) => candidate.room >= 0)
      .sort((a, b) => b.room - a.room);
    for (const { replica } of candidates) {
      const letter = await this.#request(replica, PLACE_MS, (request) => ({
        type: 'place',
        request,
        from: this.#id,
        offer,
      }));
      if (letter?.type === 'placed' && letter.placement) return letter.placement;
    }
    return null;
  }

  tell(instanceId: string, message: ControlMessage): void {
    this.#send(this.#needHolder(instanceId), { type: 'tell', instanceId, message });
  }

  async ask(instanceId: string, message: ControlRequest): Promise<WorkerAnswer | null> {
    const holder = this.#needHolder(instanceId);
    const letter = await this.#request(holder, ANSWER_MS[message.type] + ASK_MARGIN_MS, (request) => ({
      type: 'ask',
      request,
      from: this.#id,
      instanceId,
      message,
    }));
    return letter?.type === 'answered' ? letter.answer : null;
  }

  changed(): void {
    this.#publish(NEWS_CHANNEL, { replica: this.#id, workers: this.#deps.own.describe() } satisfies News);
  }

  async close(): Promise<void> {
    this.#publish(NEWS_CHANNEL, { replica: this.#id, workers: [] } satisfies News);
    for (const settle of this.#waiting.values()) settle(null);
    for (const end of this.#ends.splice(0)) await end();
  }

  #hear(message: Json): void {
    const news = newsSchema.safeParse(message);
    if (!news.success) this.#deps.logger.warn('ignored a message from a replica of another version');
    else if (news.data.replica !== this.#id) {
      const isNew = !this.#newest.has(news.data.replica);
      this.#newest.set(news.data.replica, { workers: news.data.workers, heardMs: this.#deps.clock.now() });
      // A new replica does not know this one yet.
      if (isNew) this.changed();
    }
  }

  #receive(message: Json): void {
    const parsed = letterSchema.safeParse(message);
    if (!parsed.success) {
      this.#deps.logger.warn('dropped an unknown message from a replica');
      return;
    }
    const letter = parsed.data;
    const { own, logger } = this.#deps;
    const failed = (error: unknown) =>
      logger.error({ err: error, letter: letter.type }, 'failed to handle a request from another replica');
    switch (letter.type) {
      case 'tell':
        own.tellHere(letter.instanceId, letter.message);
        return;
      case 'place':
        own.placeHere(letter.offer).then((placement) => {
          this.#send(letter.from, { type: 'placed', request: letter.request, placement });
        }, failed);
        return;
      case 'ask':
        own.askHere(letter.instanceId, letter.message).then((answer) => {
          this.#send(letter.from, { type: 'answered', request: letter.request, answer });
        }, failed);
        return;
      // The requester may have timed out. In that case the worker frees the slot when no plan arrives.
      case 'placed':
      case 'answered':
        this.#waiting.get(letter.request)?.(letter);
        return;
      default:
        letter satisfies never;
    }
  }

  #request(replica: string, ms: number, letterOf: (request: string) => Letter): Promise<Letter | null> {
    const request = randomUUID();
    return new Promise((resolve) => {
      const settle = (letter: Letter | null) => {
        timer.cancel();
        this.#waiting.delete(request);
        resolve(letter);
      };
      const timer = this.#deps.clock.after(ms, () => settle(null));
      this.#waiting.set(request, settle);
      this.#send(replica, letterOf(request));
    });
  }

  #send(replica: string, letter: Letter): void {
    this.#publish(channelOf(replica), letter);
  }

  #publish(channel: string, message: unknown): void {
    void this.#deps.coordination.publish(channel, message as Json);
  }

  #others(): { readonly replica: string; readonly workers: News['workers'] }[] {
    const oldestMs = this.#deps.clock.now() - SILENT_MS;
    for (const [replica, { heardMs }] of this.#newest) if (heardMs < oldestMs) this.#newest.delete(replica);
    return [...this.#newest].map(([replica, { workers }]) => ({ replica, workers }));
  }

  #holderOf(instanceId: string): string | undefined {
    return this.#others().find(({ workers }) => workers.some((worker) => worker.instanceId === instanceId))
      ?.replica;
  }

  #needHolder(instanceId: string): string {
    const holder = this.#holderOf(instanceId);
    if (holder === undefined) throw fault('gateway_unreachable');
    return holder;
  }
}

function channelOf(replica: string): string {
  return `replica:${replica}`;
}
