/**
 * A `fetch` with progress deadlines, to the first byte of the body and between bytes, and with a limit on the
 * answer's size. A vendor that accepts a request and never answers must not block a call.
 */
import type { Clock } from '#base/clock.ts';
import { beginningOf, limitedAnswer } from './limited-answer.ts';
import type { ByteSource, SendRequest } from './send-request.ts';

/** The reason with which the request is aborted or its body broken. */
export class ModelStalled extends Error {
  constructor(ms: number) {
    super(`The model sent nothing for ${ms / 1_000} s`);
    this.name = 'ModelStalled';
  }
}

/**
 * A `fetch` that sends by `send`. It, or the reading of its body, fails with `ModelStalled` after `stallMs`
 * without a byte.
 */
export function withProgressDeadline(
  send: SendRequest,
  clock: Clock,
  stallMs: number,
): typeof globalThis.fetch {
  return async (url, init) => {
    const stalled = new AbortController();
    const arm = () => clock.after(stallMs, () => stalled.abort(new ModelStalled(stallMs)));
    let timer = arm();
    const signal = init?.signal ? AbortSignal.any([init.signal, stalled.signal]) : stalled.signal;
    try {
      const { status, headers, body } = await send(url, { ...init, signal });
      if (!body) {
        timer.cancel();
        return new Response(null, { status, headers });
      }
      const watched = watch(status < 400 ? limitedAnswer(body) : beginningOf(body), signal, {
        onBytes: () => {
          timer.cancel();
          timer = arm();
        },
        onEnd: () => timer.cancel(),
      });
      return new Response(watched, { status, headers });
    } catch (error) {
      timer.cancel();
      throw stalled.signal.aborted ? stalled.signal.reason : error;
    }
  };
}

/** Passes the bytes through and calls `onEnd` however the reading ends. The signal breaks a hanging read. */
function watch(
  body: ByteSource,
  signal: AbortSignal,
  hooks: { onBytes(): void; onEnd(): void },
): ReadableStream<Uint8Array> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => {});
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const bytes = await Promise.race([body.read(), aborted]);
        if (bytes === null) {
          hooks.onEnd();
          controller.close();
          return;
        }
        hooks.onBytes();
        controller.enqueue(bytes);
      } catch (error) {
        hooks.onEnd();
        await body.cancel(error).catch(() => {});
        throw signal.aborted ? signal.reason : error;
      }
    },
    async cancel(reason) {
      hooks.onEnd();
      await body.cancel(reason);
    },
  });
}
