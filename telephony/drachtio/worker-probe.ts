/**
 * Answers signalling that asks this worker for a sign of life (protocol/worker-watch.ts), and passes on which
 * answers have arrived there.
 */
import type Srf from 'drachtio-srf';
import {
  LEASED_HEADER,
  PROBE_ACKNOWLEDGED_HEADER,
  PROBE_HEADER,
  probeKey,
  REPORTED,
  SUPERVISED_HEADER,
} from '#protocol/worker-watch.ts';

/** What a signalling server has heard of this worker. */
export interface Heard {
  /** When this worker sent the last answer that arrived there, monotonic, ms. */
  readonly sentMs: number;
  /** A control plane knows that this server hears this worker. */
  readonly isReported: boolean;
}

/** How a worker takes part in the watch. */
export interface WorkerWatch {
  /** Monotonic time, ms. */
  now(): number;
  /**
   * A server asks for a sign of life; null: it may have heard nothing yet. False: this worker is not to be
   * watched.
   */
  asked(server: object, heard: Heard | null): boolean;
  /** The process of a server is gone. */
  gone(server: object): void;
  /** Resolves when this worker certainly has its calls: at once, or when a control plane has said so. */
  hasItsCalls(): Promise<void>;
}

/** Answers of which no acknowledgement has come are forgotten beyond this number. */
const KEPT = 30;

/** The answers of one worker to one server. */
export class ProbeAnswers {
  readonly #watch: WorkerWatch | null;
  readonly #key: string;
  readonly #answeredMs = new Map<string, number>();

  /** `watch`: null if a supervisor watches this worker. */
  constructor(watch: WorkerWatch | null, secret: string) {
    this.#watch = watch;
    this.#key = probeKey(secret);
  }

  /** The process of the server is gone. */
  serverGone(): void {
    this.#watch?.gone(this);
  }

  /** Headers for the answer to an OPTIONS: none if the request is not from the watch. */
  headersFor(request: Srf.SrfRequest): Record<string, string> {
    const [number = '', key] = (request.get(PROBE_HEADER) ?? '').split(' ');
    if (key !== this.#key) return {};
    if (!this.#watch) return { [SUPERVISED_HEADER]: '1' };
    const [last = '', reported] = (request.get(PROBE_ACKNOWLEDGED_HEADER) ?? '').split(' ');
    const sentMs = this.#answeredMs.get(last);
    const heard = sentMs === undefined ? null : { sentMs, isReported: reported === REPORTED };
    if (!this.#watch.asked(this, heard)) return {};
    this.#answeredMs.set(number, this.#watch.now());
    for (const oldest of this.#answeredMs.keys()) {
      if (this.#answeredMs.size <= KEPT) break;
      this.#answeredMs.delete(oldest);
    }
    return { [LEASED_HEADER]: '1' };
  }
}
