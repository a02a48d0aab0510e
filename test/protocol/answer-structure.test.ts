/** The number of parts in a tool server's answer, counted before it is parsed. */
import { describe, expect, it } from 'vitest';
import { LIMITS } from '#config/limits.ts';
import { AnswerStructure } from '#protocol/answer-structure.ts';

const accepts = (text: string, isEventStream = false) =>
  new AnswerStructure({ isEventStream }).accepts(Buffer.from(text));
const message = (content: readonly unknown[]) => JSON.stringify({ id: 1, result: { content } });
const many = message(Array.from({ length: LIMITS.serverMessageItems }, () => 0));

describe('the structure of an answer', () => {
  it('may have any text, and as many blocks and values as tools need', () => {
    const text = '[{,}]"\\'.repeat(100_000);
    const rows = Array.from({ length: 2_000 }, (_, id) => ({ id, name: 'a', free: [true, false] }));
    expect(accepts(message([{ type: 'text', text }]))).toBe(true);
    expect(accepts(JSON.stringify({ id: 1, result: { structuredContent: { rows } } }, null, 2))).toBe(true);
  });

  it.each([
    ['blocks', many],
    ['values further down', JSON.stringify([[[[[Array.from({ length: LIMITS.serverMessageParts + 1 })]]]]])],
    ['levels', '['.repeat(LIMITS.serverMessageDepth + 2)],
  ])('has a limit of %s', (_what, text) => {
    expect(accepts(text)).toBe(false);
    expect(accepts(`data: ${text}\n\n`, true)).toBe(false);
  });

  it('is counted for each event of a stream, so a long stream of short messages is no problem', () => {
    const progress = { method: 'notifications/progress', params: { progressToken: 1, progress: 2 } };
    expect(accepts(`data: ${JSON.stringify(progress)}\n\n`.repeat(5_000), true)).toBe(true);
  });

  it.each([
    ['a comment with a quotation mark', `: "\ndata: ${many}\n\n`],
    ['a comment with brackets', `: [[[[[[[[\ndata: ${many}\n\n`],
    ['another field with brackets', `dat: [[[[[[[[\ndata: ${many}\n\n`],
    ['a broken event before it', `data: [[[[[[[["\n\ndata: ${many}\n\n`],
    ['every value in a line of its own', `data: ${many.replaceAll(',', ',\r\ndata: ')}\r\n\r\n`],
    ['a byte order mark before it', `\ufeffdata: ${many}\n\n`],
  ])('is not hidden by %s', (_what, text) => {
    expect(accepts(text, true)).toBe(false);
  });

  it('is counted over the borders of chunks', () => {
    const structure = new AnswerStructure({ isEventStream: true });
    const bytes = Buffer.from(`data: ${many}\n\n`);
    const answers = Array.from(bytes, (byte) => structure.accepts(Uint8Array.of(byte)));
    expect(answers.at(-1)).toBe(false);
    expect(answers[0]).toBe(true);
  });
});
