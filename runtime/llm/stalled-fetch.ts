/**
 * A `fetch` with progress deadlines: so long to the first byte of the body, so long between any two bytes.
 * A vendor that accepts a request and says nothing must never hold a call (design.md §5).
 */
import type { Clock } from '#config/clock.ts';

/** Aborts the request, or breaks its body, with this as the reason. */
export class ModelStalled extends Error {
  constructor(ms: number) {
    super(`The model sent nothing for ${ms / 1_000} s`);
    this.name = 'ModelStalled';
  }
}

type Fetch = typeof globalThis.fetch;

/** Wraps `fetch` so that it, or the reading of its body, fails with `ModelStalled` after `stallMs` without a byte. */
export function withProgressDeadline(fetch: Fetch, clock: Clock, stallMs: number): Fetch {
  return async (url, init) => {
    const stalled = new AbortController();
    const arm = () => clock.after(stallMs, () => stalled.abort(new ModelStalled(stallMs)));
    let timer = arm();
    const signal = init?.signal ? AbortSignal.any([init.signal, stalled.signal]) : stalled.signal;
    try {
      const response = await fetch(url, { ...init, signal });
      if (!response.body) {
        timer.cancel();
        return response;
      }
      const watched = watch(response.body, signal, {
        onBytes: () => {
          timer.cancel();
          timer = arm();
        },
        onEnd: () => timer.cancel(),
      });
      return new Response(watched, { status: response.status, statusText: response.statusText, headers: new Headers([...response.headers]) });
    } catch (error) {
      timer.cancel();
      throw stalled.signal.aborted ? stalled.signal.reason : error;
    }
  };
}

/** The same bytes; `onEnd` is called however the reading ends. A read that hangs is broken by the signal. */
function watch(body: ReadableStream<Uint8Array>, signal: AbortSignal, hooks: { onBytes(): void; onEnd(): void }): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => {});
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await Promise.race([reader.read(), aborted]);
        if (done) {
          hooks.onEnd();
          controller.close();
          return;
        }
        hooks.onBytes();
        controller.enqueue(value);
      } catch (error) {
        hooks.onEnd();
        await reader.cancel(error).catch(() => {});
        throw signal.aborted ? signal.reason : error;
      }
    },
    async cancel(reason) {
      hooks.onEnd();
      await reader.cancel(reason);
    },
  });
}
