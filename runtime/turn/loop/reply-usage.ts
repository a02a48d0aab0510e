/** The tokens of a reply, as far as it was written. */
import type { ChatUsage } from '../../llm/llm.ts';

/** Token usage of one generation. */
export interface UsageNote {
  readonly usage: ChatUsage | null;
  readonly modelId: string;
  /** The generation's turn; for a speculative one the turn it was meant for. */
  readonly turnId: number;
  /** Tokens of a reply that was discarded before it was committed. */
  readonly discardedTokens: number;
}

/** A reply, as far as it was written. */
export interface WrittenSoFar {
  isCommitted: boolean;
  /** Null for a fixed text. */
  readonly turnId: number | null;
  /** Null while the model is writing. */
  usage: ChatUsage | null;
  modelId: string;
  writtenChars: number;
}

/** Approximate characters per token, for generations that ended before the model reported usage. */
const CHARS_PER_TOKEN = 4;

/** The usage of a reply that is over; null if it has none. */
export function usageOf({
  isCommitted,
  modelId,
  turnId,
  usage,
  writtenChars,
}: WrittenSoFar): UsageNote | null {
  if (turnId === null) return null;
  const estimate = usage?.outputTokens ?? Math.ceil(writtenChars / CHARS_PER_TOKEN);
  const of = { modelId, turnId };
  if (isCommitted)
    return {
      ...of,
      usage: usage ?? { inputTokens: null, outputTokens: estimate, cachedInputTokens: null },
      discardedTokens: 0,
    };
  return estimate > 0 ? { ...of, usage: null, discardedTokens: estimate } : null;
}
