/**
 * The workers of the other replicas: every replica tells the others once a second which workers hang on it
 * and what room they have, and passes on what one of them wants of such a worker. Over `Coordination`, so
 * nothing of it is durable: lost news is told again, a lost request is one that nobody answered, and what a
 * session is stays in the database.
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

/** How often a replica tells of its workers. */
const NEWS_MS = 1_000;
/** A replica that has told nothing for this long is gone, or out of reach. */
const SILENT_MS = 5_000;
/** An offer is put to one worker after another there; each has half a second. */
const PLACE_MS = 3_000;
/** What is waited beyond what the other replica gives its worker, so that its own word comes first. */
const ASK_MARGIN_MS = 1_000;
const NEWS_CHANNEL = 'replicas';

const offerSchema = z.object({
  sessionId: z.string(),
  epoch: z.number().int(),
  kind: jobKind,
  sipCallId: z.string().nullable(),
});
const placementSchema = z.object({
  instanceId: z.string(),
  supervisorRun: z.string().nullable(),
  sipTag: z.string().nullable(),
});
const newsSchema = z.object({
  replica: z.string(),
  workers: z.array(
    z.object({
      instanceId: z.string(),
      kinds: z.array(jobKind),
      freeSlots: z.number(),
      capacity: z.number().default(0),
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
  /** Offers a job to them alone; null when none takes it. */
  placeHere(offer: JobOffer): Promise<Placement | null>;
  /** Sends to one of them; does nothing when it has gone. */
  tellHere(instanceId: string, message: ControlMessage): void;
  /** Sends and waits for the answer that names the same request; null when there is none. */
  askHere(instanceId: string, message: ControlMessage): Promise<WorkerAnswer | null>;
}

/** Reaches the workers of the other replicas. */
export interface OtherReplicas {
  /** True when another replica has said within the last seconds that this worker is connected to it. */
  holds(instanceId: string): boolean;
  /** Every worker another replica holds. */
  instanceIds(): readonly string[];
  /** What each of those has, as its replica last said. */
  workers(): News['workers'];
  /**
   * Offers a job to the workers of one replica after another, the one with most room first; null when none
   * takes it.
   */
  place(offer: JobOffer): Promise<Placement | null>;
  /** Passes a message on to a worker. Throws `gateway_unreachable` when no replica holds it. */
  tell(instanceId: string, message: ControlMessage): void;
  /**
   * Passes a request on and resolves with its answer, or null. Throws `gateway_unreachable` when no replica
   * holds it.
   */
  ask(instanceId: string, message: ControlRequest): Promise<WorkerAnswer | null>;
  /** This replica's workers have changed: the others are told at once. */
  changed(): void;
  close(): Promise<void>;
}

/** Dependencies of the shared coordination. */
export interface OtherReplicasDeps {
  readonly coordination: Coordination;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly own: OwnWorkers;
}

/** Joins the other replicas; resolves once it hears them. */
export async function joinReplicas(deps: OtherReplicasDeps): Promise<OtherReplicas> {
  const replicas = new Replicas(deps);
  await replicas.join();
  return replicas;
}

class Replicas implements OtherReplicas {
  readonly #deps: OtherReplicasDeps;
  readonly #id = randomUUID();
  readonly #known = new Map<string, { readonly workers: News['workers']; readonly heardMs: number }>();
  readonly #waiting = new Map<string, (letter: Letter | null) => void>();
  readonly #ends: (() => Promise<void>)[] = [];

  constructor(deps: OtherReplicasDeps) {
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

  async place(offer: JobOffer): Promise<Placement | null> {
    const room = (workers: News['workers']) =>
      Math.max(
        -1,
        ...workers.flatMap(({ kinds, freeSlots }) => (kinds.includes(offer.kind) ? freeSlots : [])),
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
    for (const end of this.#ends.splice(0)) await end().catch(() => undefined);
  }

  #hear(message: Json): void {
    const news = newsSchema.safeParse(message);
    if (!news.success) this.#deps.logger.warn('news of a replica that is not of this version; ignored');
    else if (news.data.replica !== this.#id) {
      const isNew = !this.#known.has(news.data.replica);
      this.#known.set(news.data.replica, { workers: news.data.workers, heardMs: this.#deps.clock.now() });
      // Whoever has just come knows nobody yet.
      if (isNew) this.changed();
    }
  }

  #receive(message: Json): void {
    const parsed = letterSchema.safeParse(message);
    if (!parsed.success) {
      this.#deps.logger.warn('a replica sent what this version does not know; dropped');
      return;
    }
    const letter = parsed.data;
    const { own, logger } = this.#deps;
    const failed = (error: unknown) =>
      logger.error({ err: error, letter: letter.type }, 'request of another replica');
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
      // Nobody may wait for it any more: the worker frees the slot of a job whose plan does not come.
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
    this.#deps.coordination
      .publish(channel, message as Json)
      .catch((error: unknown) => this.#deps.logger.debug({ err: error, channel }, 'replicas not reached'));
  }

  #others(): { readonly replica: string; readonly workers: News['workers'] }[] {
    const oldestMs = this.#deps.clock.now() - SILENT_MS;
    for (const [replica, { heardMs }] of this.#known) if (heardMs < oldestMs) this.#known.delete(replica);
    return [...this.#known].map(([replica, { workers }]) => ({ replica, workers }));
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
