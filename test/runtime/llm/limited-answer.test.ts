import { describe, expect, it } from 'vitest';
import { LIMITS } from '#config/limits.ts';
import { beginningOf, limitedAnswer } from '#runtime/llm/limited-answer.ts';
import { ModelError } from '#runtime/llm/llm.ts';
import type { ByteSource } from '#runtime/llm/send-request.ts';
import { turnsDuring } from '#test/turns-until.ts';

/** A body received in these chunks. */
function bodyOf(chunks: readonly string[]): ByteSource & { readonly cancelled: unknown[] } {
  const left = chunks.map((chunk) => Buffer.from(chunk));
  const cancelled: unknown[] = [];
  return {
    cancelled,
    read: async () => left.shift() ?? null,
    cancel: async (reason) => void cancelled.push(reason),
  };
}

async function readAll(body: ByteSource): Promise<string[]> {
  const parts: string[] = [];
  for (let part = await body.read(); part !== null; part = await body.read())
    parts.push(Buffer.from(part).toString());
  return parts;
}

const EVENT = 'data: {"choices":[]}\n\n';

describe('the bytes of a model’s answer', () => {
  it('let other calls run in between, whether they arrive at once or in many small chunks', async () => {
    const text = EVENT.repeat(3_000);
    for (const chunks of [[text], text.match(/.{1,100}/gs) ?? []]) {
      let read: string[] = [];
      const turns = await turnsDuring(async () => {
        read = await readAll(limitedAnswer(bodyOf(chunks)));
      });
      expect(read.join('')).toBe(text);
      expect(turns).toBeGreaterThan(text.length / 2_200);
      expect(turns).toBeLessThan(text.length / 2_048 + 10);
    }
  });

  it('are read without a wait for an ordinary answer', async () => {
    expect(
      await turnsDuring(() => readAll(limitedAnswer(bodyOf([EVENT, EVENT, EVENT])))),
    ).toBeLessThanOrEqual(1);
  });

  it.each(['\n\n', '\r\n\r\n', '\r\r'])(
    'are unlimited in events of the permitted length, with any line endings: %j',
    async (end) => {
      const event = `data: ${'x'.repeat(LIMITS.modelEventBytes - 100)}${end}`;
      expect((await readAll(limitedAnswer(bodyOf([event, event, event])))).join('')).toHaveLength(
        3 * event.length,
      );
    },
  );

  it.each([
    ['one line', 'x'.repeat(LIMITS.modelEventBytes + 1)],
    ['many lines', 'data: x\r\n'.repeat(LIMITS.modelEventBytes / 9 + 1)],
  ])('are rejected when one event is too long: %s', async (_, text) => {
    const failure = await readAll(limitedAnswer(bodyOf([EVENT, text]))).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ModelError);
    expect(failure).toMatchObject({ retryable: false });
  });

  it('are rejected when the complete answer is too long', async () => {
    const chunk = EVENT.repeat(10_000);
    const chunks = Array.from({ length: Math.ceil(LIMITS.modelAnswerBytes / chunk.length) + 1 }, () => chunk);
    await expect(readAll(limitedAnswer(bodyOf(chunks)))).rejects.toThrow(ModelError);
  });

  it('are read up to the explanation of the error if the model refuses', async () => {
    const body = bodyOf(Array.from({ length: 100 }, () => 'x'.repeat(16 * 1_024)));
    expect((await readAll(beginningOf(body))).join('')).toHaveLength(LIMITS.modelRefusalBytes);
    expect(body.cancelled).toHaveLength(1);
  });
});
