/**
 * Watches the connected workers (protocol/worker-watch.ts): asks each that has no supervisor once a second
 * for a sign of life, by an OPTIONS that only drachtio-srf sees, closes the connections of the dead, and
 * reports.
 */
import { randomUUID } from 'node:crypto';
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import {
  DEATH_MS,
  LEASED_HEADER,
  PROBE_ACKNOWLEDGED_HEADER,
  PROBE_HEADER,
  probeKey,
  REPORT_TAKEN_MS,
  REPORTED,
  SILENCE_REPORTED_MS,
  type SignallingReport,
  SUPERVISED_HEADER,
} from '#protocol/worker-watch.ts';
import type { App } from './app-protocol.ts';
import { formatMessage, header, type SipMessage } from './message.ts';

const PROBE_MS = 1_000;
/** After a longer pause of this process, answers may wait to be read. */
const MAX_PAUSE_MS = 1_500;
/** A worker that has answered nothing for this long is reported as silent. */
const SILENT_MS = 3_000;
const PROBE_ID = 'probe-';

/** What the watch needs. */
export interface AppWatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The secret shared with the workers. */
  readonly secret: string;
  readonly apps: ReadonlySet<App>;
  /** Resolves once a control plane has taken the report; rejects if none does. */
  report(report: SignallingReport): Promise<void>;
}

/** A worker that has answered, by its current or last connection. */
interface WatchedWorker {
  app: App;
  answeredMs: number;
  /** Number of the last question it answered. */
  answered: number;
}

/** The watch of one server. */
export class AppWatch {
  readonly #options: AppWatchOptions;
  readonly #id = randomUUID();
  readonly #key: string;
  readonly #workers = new Map<string, WatchedWorker>();
  /** Connections of workers that need not be asked. */
  readonly #supervised = new WeakSet<App>();
  readonly #timer: Timer;
  #count = 0;
  #tickedMs = Number.NEGATIVE_INFINITY;
  /** The last report that a control plane has taken, and when it was sent. */
  #taken = { atMs: Number.NEGATIVE_INFINITY, workers: new Set<string>() };
  #isReporting = false;

  constructor(options: AppWatchOptions) {
    this.#options = options;
    this.#key = probeKey(options.secret);
    this.#timer = options.clock.every(PROBE_MS, () => this.#tick());
  }

  /** Handles a worker's response; false if it is not the answer to a question of the watch. */
  takeAnswer(app: App, transactionId: string, response: SipMessage): boolean {
    if (!transactionId.startsWith(PROBE_ID)) return false;
    if (header(response, SUPERVISED_HEADER.toLowerCase()) !== null) this.#supervised.add(app);
    const answered = Number(transactionId.slice(PROBE_ID.length));
    if (header(response, LEASED_HEADER.toLowerCase()) === null) return true;
    const answeredMs = this.#options.clock.now();
    for (const tag of app.tags) this.#workers.set(tag, { app, answeredMs, answered });
    return true;
  }

  close(): void {
    this.#timer.cancel();
  }

  #tick(): void {
    this.#count += 1;
    for (const app of this.#options.apps) if (!this.#supervised.has(app)) this.#ask(app);
    const { clock, logger } = this.#options;
    const pauseMs = clock.now() - this.#tickedMs;
    this.#tickedMs = clock.now();
    if (pauseMs > MAX_PAUSE_MS) return;
    const report = this.#report();
    // A report under way says the same with older times.
    if (this.#isReporting || report.connected.length + report.silent.length === 0) return;
    this.#isReporting = true;
    const atMs = clock.now();
    this.#options
      .report(report)
      .then(
        () => {
          this.#taken = { atMs, workers: new Set(report.connected) };
        },
        (error: unknown) => logger.debug({ err: error }, 'no control plane took the report about workers'),
      )
      .finally(() => {
        this.#isReporting = false;
      });
  }

  #report(): SignallingReport {
    const { apps, clock } = this.#options;
    const nowMs = clock.now();
    const connected: string[] = [];
    const silent: { worker: string; for_ms: number }[] = [];
    for (const [worker, { app, answeredMs }] of this.#workers) {
      const forMs = nowMs - answeredMs;
      if (apps.has(app) && forMs <= SILENT_MS) connected.push(worker);
      else if (forMs <= SILENCE_REPORTED_MS) {
        silent.push({ worker, for_ms: forMs });
        // Its calls wait for another worker from now on.
        if (forMs >= DEATH_MS && apps.has(app)) app.close();
      } else this.#workers.delete(worker);
    }
    return { signalling: this.#id, seq: this.#count, connected, silent };
  }

  /**
   * Whether or not a control plane takes the reports, the acknowledgement proves that this server will not
   * call the worker silent for some seconds.
   */
  #ask(app: App): void {
    const { clock } = this.#options;
    const [tag = ''] = app.tags;
    const known = this.#workers.get(tag);
    const isReported = clock.now() - this.#taken.atMs <= REPORT_TAKEN_MS && this.#taken.workers.has(tag);
    const id = `${PROBE_ID}${this.#count}`;
    const raw = formatMessage({
      start: { kind: 'request', method: 'OPTIONS', uri: 'sip:worker@parley.invalid' },
      headers: [
        { name: 'Via', value: `SIP/2.0/TCP parley.invalid;branch=z9hG4bK${id}` },
        { name: 'From', value: '<sip:signalling@parley.invalid>;tag=watch' },
        { name: 'To', value: '<sip:worker@parley.invalid>' },
        { name: 'Call-ID', value: `${id}@parley.invalid` },
        { name: 'CSeq', value: `${this.#count} OPTIONS` },
        { name: PROBE_HEADER, value: `${this.#count} ${this.#key}` },
        ...(known?.app === app
          ? [
              {
                name: PROBE_ACKNOWLEDGED_HEADER,
                value: `${known.answered}${isReported ? ` ${REPORTED}` : ''}`,
              },
            ]
          : []),
      ],
      body: '',
    });
    const time = `${new Date(clock.wallTime()).toISOString().slice(11, 23)}000`;
    const meta = ['network', String(Buffer.byteLength(raw)), 'tcp', '127.0.0.1', '5060', time];
    app.deliver(['sip', ...meta, id, '', '127.0.0.1', '5060', ''], raw);
  }
}
