/**
 * Passes a model's answer on within its limits and in small parts. A tenant's own model may send anything,
 * and the event loop serves other calls: one network chunk can hold a thousand events.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import { LIMITS } from '#config/limits.ts';
import { ModelError } from './llm.ts';
import type { ByteSource } from './send-request.ts';

/** Bytes passed on between two turns of the event loop. */
const ROUND_BYTES = 2_048;
const [LF, CR] = [10, 13];

/**
 * The same bytes in short parts. Reading fails with `ModelError` when an event or the whole answer is too
 * long.
 */
export function limitedAnswer(body: ByteSource): ByteSource {
  const event = new EventLength();
  let [rest, roundBytes, allBytes]: [Uint8Array, number, number] = [new Uint8Array(0), 0, 0];
  return {
    async read() {
      if (roundBytes >= ROUND_BYTES) {
        roundBytes = 0;
        await nextRound();
      }
      if (rest.length === 0) {
        const bytes = await body.read();
        if (bytes === null) return null;
        rest = bytes;
      }
      const part = rest.subarray(0, ROUND_BYTES);
      rest = rest.subarray(ROUND_BYTES);
      roundBytes += part.length;
      allBytes += part.length;
      if (event.after(part) > LIMITS.modelEventBytes || allBytes > LIMITS.modelAnswerBytes)
        throw new ModelError('The model’s answer is above the limit', { retryable: false });
      return part;
    },
    cancel: (reason) => body.cancel(reason),
  };
}

/** The beginning of an error answer, which says what is wrong. */
export function beginningOf(body: ByteSource): ByteSource {
  let bytes = 0;
  return {
    async read() {
      if (bytes < LIMITS.modelRefusalBytes) {
        const part = await body.read();
        bytes += part?.length ?? 0;
        return part;
      }
      await body.cancel(new Error('enough was read'));
      return null;
    },
    cancel: (reason) => body.cancel(reason),
  };
}

/** Length of the current event; an empty line ends one. */
class EventLength {
  #bytes = 0;
  #isEmptyLine = true;
  #last = 0;

  after(part: Uint8Array): number {
    for (const byte of part) {
      this.#bytes += 1;
      const isEnd = byte === CR || (byte === LF && this.#last !== CR);
      if (isEnd && this.#isEmptyLine) this.#bytes = 0;
      if (isEnd || byte !== LF) this.#isEmptyLine = isEnd;
      this.#last = byte;
    }
    return this.#bytes;
  }
}
