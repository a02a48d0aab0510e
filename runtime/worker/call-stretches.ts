/**
 * The stretches of one call that leave this worker: each is uploaded, and a report of the call then names it
 * with its digest, which the control plane signs while the call runs. A stretch waits for the next words of
 * the call, which are reported anyway, but not for long.
 */
import { createHash } from 'node:crypto';
import type { Clock, Timer } from '#base/clock.ts';
import { flacHead } from '#media/speech/audio/flac-format.ts';
import { MOST_STRETCHES, type Stretch } from '#protocol/call-chain.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import type { Piece, Uploads } from '../link/uploads.ts';

/** With the time to store reports, every stretch is signed within half a minute. */
const WAIT_MS = 20_000;
/** Time to compress the last pieces of a call, whose end waits for them; longer ones are not signed in it. */
const LAST_WITHIN_MS = 1_000;

/** Dependencies of the stretches of a call. */
export interface CallStretchesDeps {
  readonly clock: Pick<Clock, 'after'>;
  readonly uploads: Pick<Uploads, 'put'>;
  /** Sends a durable report of the call. */
  report(report: DurableReport): void;
}

/** The stretches of one call. */
export class CallStretches {
  readonly #deps: CallStretchesDeps;
  /** Those that no report has named yet. */
  readonly #unnamed: Stretch[] = [];
  readonly #packing = new Set<Promise<void>>();
  #timer: Timer | null = null;
  #ending: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(deps: CallStretchesDeps) {
    this.#deps = deps;
  }

  put(piece: Piece): void {
    const { promise: packed, resolve } = Promise.withResolvers<Uint8Array | null>();
    this.#deps.uploads.put(piece, resolve);
    if (piece.head.type === 'flight_log') {
      this.#add({
        of: 'log',
        piece: piece.head.chunk,
        bytes: piece.bytes.length,
        sha256: sha256(piece.bytes),
      });
      return;
    }
    const noting = packed
      .then((frames) => frames && this.#add(soundOf(piece, frames)))
      .then(() => void this.#packing.delete(noting));
    this.#packing.add(noting);
  }

  /** Sends a report, which names the stretches that wait if it has words. The last one waits for them. */
  report(report: DurableReport): void {
    if (report.type === 'items') this.#deps.report(this.#naming(report));
    else if (report.type !== 'ended') this.#deps.report(report);
    else if (this.#packing.size === 0) this.#reportEnd(report);
    else this.#ending = this.#packed().then(() => this.#reportEnd(report));
  }

  /** Resolves once the end of the call is reported, if it was to be; nothing is named afterwards. */
  async close(): Promise<void> {
    await this.#ending;
    this.#isOver = true;
    this.#timer?.cancel();
  }

  #add(stretch: Stretch): void {
    if (this.#isOver) return;
    this.#unnamed.push(stretch);
    this.#timer ??= this.#deps.clock.after(WAIT_MS, () => this.#nameAlone());
  }

  #nameAlone(): void {
    if (this.#unnamed.length > 0) this.#deps.report(this.#naming({ type: 'items', items: [] }));
  }

  #naming(report: Extract<DurableReport, { type: 'items' }>): DurableReport {
    this.#timer?.cancel();
    this.#timer = null;
    const stretches = this.#unnamed.splice(0, MOST_STRETCHES);
    if (this.#unnamed.length > 0) this.#timer = this.#deps.clock.after(0, () => this.#nameAlone());
    return stretches.length === 0 ? report : { ...report, stretches };
  }

  async #packed(): Promise<void> {
    const { promise: tooLong, resolve } = Promise.withResolvers<void>();
    const timer = this.#deps.clock.after(LAST_WITHIN_MS, resolve);
    await Promise.race([Promise.all(this.#packing), tooLong]);
    timer.cancel();
  }

  #reportEnd(report: DurableReport): void {
    while (this.#unnamed.length > 0) this.#nameAlone();
    this.#isOver = true;
    this.#timer?.cancel();
    this.#deps.report(report);
  }
}

function soundOf({ head, bytes }: Piece, frames: Uint8Array): Stretch {
  if (head.type !== 'recording') throw new Error('a flight log is no sound');
  const { track: of, segment: piece, start_ms, rate_hz } = head;
  const samples = Math.floor(bytes.byteLength / 2);
  const digest = sha256(flacHead({ rateHz: rate_hz, samples }), frames);
  return { of, piece, start_ms, rate_hz, samples, bytes: frames.length, sha256: digest };
}

function sha256(...parts: readonly Uint8Array[]): string {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  return digest.digest('base64url');
}
