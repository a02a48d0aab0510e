/** Sends a long text to a voice in stretches, so that the worker's other calls get their turn in between. */
import { setImmediate as nextRound } from 'node:timers/promises';
import { LIMITS } from '#config/limits.ts';
import { nameless, type Within } from '../../event-loop/within.ts';
import type { ChatDelta } from '../../llm/llm.ts';
import { createPieceCutter, type Piece } from './reply.ts';

/** Characters cut between two turns of the event loop. */
const ROUND_CHARS = 2_048;

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
export async function addWhole(voice: Voice, text: string, within: Within = nameless): Promise<void> {
  const cutter = createPieceCutter();
  try {
    for (let at = 0; at < text.length; at += ROUND_CHARS) {
      if (at > 0) await nextRound();
      if (voice.signal.aborted) return;
      within(() => voice.add(...cutter.push(text.slice(at, at + ROUND_CHARS))));
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
 * A model's output in texts that are quick to cut. Text beyond the longest reply is dropped, because tools
 * and usage come after it.
 */
export async function* inStretches(deltas: AsyncIterable<ChatDelta>): AsyncGenerator<ChatDelta> {
  let left: number = LIMITS.replyChars;
  let roundChars = 0;
  for await (const delta of deltas) {
    if (delta.type !== 'text') {
      yield delta;
      continue;
    }
    const written = delta.text.slice(0, left);
    left -= written.length;
    for (let at = 0; at < written.length; at += ROUND_CHARS) {
      const text = written.slice(at, at + ROUND_CHARS);
      yield { type: 'text', text };
      roundChars += text.length;
      if (roundChars < ROUND_CHARS) continue;
      roundChars = 0;
      await nextRound();
    }
  }
}
