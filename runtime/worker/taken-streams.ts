/**
 * The streams of phone calls that a draining worker hands over: the next worker asks for the rest of each
 * when it is about to send, and goes on with its numbers. The far end hears one stream.
 */
import type { Clock } from '#base/clock.ts';
import type { RestOfSent } from '#media/leg/leg.ts';
import type { ControlMessage, FormerWorker, RestOfStream } from '#protocol/worker-link.ts';
import type { ControlPlaneClient } from '../link/control-plane-client.ts';
import { keyOf } from '../link/session-key.ts';
import type { Job } from './job-table.ts';

/** The former worker sends until it answers; the caller hears nothing for so long if the answer is lost. */
const ANSWER_MS = 1_000;

/** Dependencies of the streams. */
export interface TakenStreamsDeps {
  readonly clock: Clock;
  readonly client: Pick<ControlPlaneClient, 'send'>;
}

/** Asks former workers for their streams. */
export class TakenStreams {
  readonly #deps: TakenStreamsDeps;
  readonly #waiting = new Map<string, (stream: RestOfStream | null) => void>();

  constructor(deps: TakenStreamsDeps) {
    this.#deps = deps;
  }

  /** Takes a call's stream from the former worker; null if that sends none, or does not answer in time. */
  async take(job: Pick<Job, 'sessionId' | 'epoch'>, former: FormerWorker): Promise<RestOfSent | null> {
    const { client, clock } = this.#deps;
    const { promise, resolve } = Promise.withResolvers<RestOfStream | null>();
    const timer = clock.after(ANSWER_MS, () => resolve(null));
    // With its epoch: a late answer must not be taken for that of the call's next move.
    const key = keyOf(job.sessionId, job.epoch);
    this.#waiting.set(key, resolve);
    client.send({ type: 'take_stream', session_id: job.sessionId, epoch: job.epoch, former });
    const stream = await promise;
    timer.cancel();
    this.#waiting.delete(key);
    return stream && restOfSent(stream, clock.now());
  }

  /** The answer has come. */
  answered({ session_id: sessionId, epoch, stream }: Extract<ControlMessage, { type: 'stream' }>): void {
    this.#waiting.get(keyOf(sessionId, epoch))?.(stream);
  }
}

/** `nowMs`: when the answer came. */
function restOfSent(
  { clock_hz: clockHz, due_in_ms: dueInMs, ...numbers }: RestOfStream,
  nowMs: number,
): RestOfSent {
  return { ...numbers, clockHz, dueMs: nowMs + dueInMs };
}

/** `nowMs`: when the answer is sent. */
export function restOfStream({ clockHz, dueMs, ...numbers }: RestOfSent, nowMs: number): RestOfStream {
  return { ...numbers, clock_hz: clockHz, due_in_ms: dueMs - nowMs };
}
