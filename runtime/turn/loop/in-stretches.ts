/**
 * A long text, written at once, on its way to a voice: cut a stretch at a time, so that every other call of
 * the worker has its turn in between.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import { LIMITS } from '#config/limits.ts';
import { nameless, type Within } from '../../event-loop/within.ts';
import type { ChatDelta } from '../../llm/llm.ts';
import { createPieceCutter, type Piece } from './reply.ts';

/** Cut between two turns of the loop. */
const ROUND_CHARS = 2_048;

/** What takes the pieces of a reply. */
interface Voice {
  readonly signal: AbortSignal;
  add(...pieces: readonly Piece[]): void;
  /** No more follow. */
  complete(): void;
  /** The rest of them cannot be made. */
  fail(error: unknown): void;
}

/**
 * Gives a voice a whole text, the beginning of it at once. Never rejects: where it cannot go on, the voice is
 * told.
 */
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
 * What a model writes, in texts that are cut quickly. Of text that is longer than a reply the rest is left
 * out: tools and tokens come after it.
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
