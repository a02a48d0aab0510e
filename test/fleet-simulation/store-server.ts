/**
 * The MongoDB of the fleet as the driver sees it: latency, slow majorities, changes of the primary, answers
 * lost after the write, a hung primary. Single-document writes are repeated once by the driver and take
 * effect once (retryable writes); changes of many documents are not.
 */
import mongoose from 'mongoose';
import type { Random } from '../simulation/random.ts';
import type { Network } from './network.ts';
import type { Fields, StoreEngine } from './store-engine.ts';
import type { VirtualProcess } from './virtual-process.ts';

/** The machine it runs on. */
export const STORE_HOST = 'store';
/** The driver waits this long for a primary. */
const SELECTION_MS = 10_000;
const POLL_MS = 100;

const { MongoNetworkError, MongoServerSelectionError } = mongoose.mongo;

/** Kind of a command: how the driver repeats it. */
export type CommandKind = 'read' | 'write' | 'many';

/** Result of a command: a reply, or the engine's error. */
interface Outcome {
  readonly reply?: Fields;
  readonly error?: unknown;
}

interface Request {
  readonly process: VirtualProcess;
  readonly command: Fields;
  readonly kind: CommandKind;
  readonly sentMs: number;
  attempts: number;
  /** Set when it has taken effect. */
  outcome: Outcome | null;
  /** Changes with each attempt: what an earlier one planned does not happen. */
  attempt: number;
  settle(outcome: Outcome): void;
}

/** The database. */
export class StoreServer {
  readonly #engine: StoreEngine;
  readonly #network: Network;
  readonly #random: Random;
  readonly #inFlight = new Set<Request>();
  #isHung = false;
  #hasPrimary = true;
  /** Extra time until a majority has a write, ms. */
  majorityLagMs = 0;
  /** Share of the answers that are lost. */
  lostShare = 0;
  /** Commands received so far. */
  commands = 0;
  /** Called with every command that has taken effect. */
  onWrite: (command: Fields) => void = () => undefined;

  constructor(engine: StoreEngine, network: Network, random: Random) {
    this.#engine = engine;
    this.#network = network;
    this.#random = random;
  }

  get isHealthy(): boolean {
    return !this.#isHung && this.#hasPrimary;
  }

  reaches({ host }: VirtualProcess): boolean {
    return !this.#network.isCut(host, STORE_HOST) && !this.#network.isCut(STORE_HOST, host);
  }

  hang(): void {
    this.#isHung = true;
  }

  recover(): void {
    this.#isHung = false;
  }

  /** The primary steps down: connections break, and answers under way are lost. */
  stepDown(): void {
    this.#hasPrimary = false;
    for (const request of [...this.#inFlight]) this.#break(request);
  }

  elect(): void {
    this.#hasPrimary = true;
  }

  /** Sends a command for a process; rejects with the driver's or the engine's error. */
  run(process: VirtualProcess, command: Fields, kind: CommandKind): Promise<Fields> {
    this.commands += 1;
    return new Promise((resolve, reject) => {
      const request: Request = {
        process,
        command,
        kind,
        sentMs: this.#network.clock.now(),
        attempts: 0,
        outcome: null,
        attempt: 0,
        settle: ({ reply, error }) => {
          this.#inFlight.delete(request);
          process.enter(() => (reply ? resolve(reply) : reject(error)));
        },
      };
      this.#select(request);
    });
  }

  /** Reads for the invariants, at once. */
  peek(command: Fields): Fields {
    return this.#engine.run(command);
  }

  /** Writes what the fleet begins with, at once. */
  seed(command: Fields): void {
    this.#engine.run(command);
  }

  #select(request: Request): void {
    const { clock } = this.#network;
    if (this.#hasPrimary && this.reaches(request.process)) {
      this.#inFlight.add(request);
      request.attempts += 1;
      const attempt = ++request.attempt;
      clock.after(this.#network.delayMs(request.process.host, STORE_HOST), () =>
        this.#arrive(request, attempt),
      );
    } else if (clock.now() - request.sentMs >= SELECTION_MS) {
      const error = new MongoServerSelectionError('no primary', {} as never);
      request.settle({ error });
    } else clock.after(POLL_MS, () => this.#select(request));
  }

  #arrive(request: Request, attempt: number): void {
    if (request.attempt !== attempt) return;
    const { clock } = this.#network;
    if (this.#isHung) {
      clock.after(POLL_MS, () => this.#arrive(request, attempt));
      return;
    }
    request.outcome ??= this.#execute(request);
    const { outcome } = request;
    const lagMs = request.kind === 'read' ? 0 : this.majorityLagMs;
    const backMs = this.#network.delayMs(STORE_HOST, request.process.host);
    clock.after(lagMs + backMs, () => {
      if (request.attempt !== attempt) return;
      if (this.#random.chance(this.lostShare)) this.#break(request);
      else request.settle(outcome);
    });
  }

  #execute({ command, kind }: Request): Outcome {
    try {
      const reply = this.#engine.run(command);
      if (kind !== 'read') this.onWrite(command);
      return { reply };
    } catch (error) {
      return { error };
    }
  }

  /** Its connection broke before the answer: the driver repeats what it may, once. */
  #break(request: Request): void {
    request.attempt += 1;
    this.#inFlight.delete(request);
    // Not every repetition finds a connection.
    if (request.kind !== 'many' && request.attempts < 2 && this.#random.chance(0.6)) this.#select(request);
    else request.settle({ error: new MongoNetworkError('connection closed') });
  }
}
