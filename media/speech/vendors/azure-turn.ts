/**
 * One turn at Azure's recogniser: a request id, and the record of it that the vendor wants when the turn has
 * ended (`telemetry`).
 *
 * Source: Microsoft's page "Speech Service WebSocket protocol", section "Telemetry schema".
 */
import { randomUUID } from 'node:crypto';

/** Most times that are kept: a turn of ten minutes has 2,000 hypotheses. */
const MAX_TIMES = 4_000;
/** Longer names are not in the protocol. */
const MAX_PATH_CHARS = 64;

/** How the connection was opened; times in ms since 1970. */
export interface OpenedConnection {
  readonly id: string;
  readonly startedAt: number;
  readonly openedAt: number;
}

/** A UUID without dashes, which the protocol demands. */
export function newId(): string {
  return randomUUID().replaceAll('-', '');
}

/** A turn. */
export class AzureTurn {
  readonly requestId = newId();
  readonly #startedAt: number;
  readonly #received = new Map<string, string[]>();
  #timesKept = 0;
  /** The end of its audio has been sent. */
  isEnding = false;

  /** `now`: ms since 1970, here and below. */
  constructor(now: number) {
    this.#startedAt = now;
  }

  /** A message of this path has arrived. */
  received(path: string, now: number): void {
    if (this.#timesKept >= MAX_TIMES || path.length > MAX_PATH_CHARS) return;
    this.#timesKept++;
    const times = this.#received.get(path) ?? [];
    times.push(iso(now));
    this.#received.set(path, times);
  }

  /** The body of the telemetry. The first turn of a connection describes the connection, too. */
  telemetry(now: number, connection: OpenedConnection | null): object {
    return {
      ReceivedMessages: [...this.#received].map(([path, times]) => ({
        [path]: times.length === 1 ? times[0] : times,
      })),
      Metrics: [
        ...(connection ? [connectionMetric(connection)] : []),
        { Name: 'Microphone', Start: iso(this.#startedAt), End: iso(now) },
      ],
    };
  }
}

function connectionMetric({ id, startedAt, openedAt }: OpenedConnection): object {
  return { Name: 'Connection', Id: id, Start: iso(startedAt), End: iso(openedAt) };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
