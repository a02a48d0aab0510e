/** Sends a long text to a voice in batches, so that the worker's other calls get their turn in between. */
import { setImmediate as nextRound } from 'node:timers/promises';
import { LIMITS } from '#config/limits.ts';
import { nameless, type Within } from '../../event-loop/session-attribution.ts';
import type { ChatDelta } from '../../llm/llm.ts';
import { createPieceCutter, type Piece } from './piece-cutter.ts';

/** Characters cut between two turns of the event loop. */
const BATCH_CHARS = 2_048;

/** Receives the pieces of a reply. */
interface Voice {
  readonly signal: AbortSignal;
  add(...pieces: readonly Piece[]): void;
  /** No more pieces follow. */
  complete(): void;
  /** The remaining pieces cannot be synthesised. */
  fail(error: unknown): void;
}

/** Gives a whole text to a voice, its beginning at once. Never rejects; a failure goes to the voice. */
export async function addWholeText(voice: Voice, text: string, within: Within = nameless): Promise<void> {
  const cutter = createPieceCutter();
  try {
    for (let at = 0; at < text.length; at += BATCH_CHARS) {
      if (at > 0) await nextRound();
      if (voice.signal.aborted) return;
      within(() => voice.add(...cutter.push(text.slice(at, at + BATCH_CHARS))));
    }
    within(() => {
      voice.add(...cutter.finish());
      voice.complete();
    });
  } catch (error) {
    voice.fail(error);
  }
}

/**
 * A model's output, its text in batches that are quick to cut. Text beyond the longest reply is dropped, but
 * the stream is read to its end: tool calls and usage may follow.
 */
export async function* inBatches(deltas: AsyncIterable<ChatDelta>): AsyncGenerator<ChatDelta> {
  let left: number = LIMITS.replyChars;
  let batchChars = 0;
  for await (const delta of deltas) {
    if (delta.type !== 'text') {
      yield delta;
      continue;
    }
    const written = delta.text.slice(0, left);
    left -= written.length;
    for (let at = 0; at < written.length; at += BATCH_CHARS) {
      const text = written.slice(at, at + BATCH_CHARS);
      yield { type: 'text', text };
      batchChars += text.length;
      if (batchChars < BATCH_CHARS) continue;
      batchChars = 0;
      await nextRound();
    }
  }
}
