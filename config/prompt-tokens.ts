/** Length of a system prompt in tokens of the `o200k_base` tokenizer. */
import { setImmediate as nextRound } from 'node:timers/promises';
import { LIMITS } from './limits.ts';

/** Longest run without a break that is tokenised as one piece: the tokeniser's time grows with its square. */
const PIECE_CHARS = 256;
/** Approximate characters counted per iteration of the event loop. */
const ROUND_CHARS = 2_048;
const PIECES = /.{1,256}/gsu;

/**
 * Counts tokens. A run of more than 256 characters without a space is counted in parts, which can only
 * overestimate, by a few tokens.
 */
async function countPromptTokens(text: string): Promise<number> {
  // Loaded on first use: the vocabulary costs 200 ms and tens of megabytes, and most prompts are short.
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  let tokens = 0;
  for (const piece of piecesOf(text)) {
    tokens += countTokens(piece, { disallowedSpecial: new Set() });
    // A long prompt takes tens of milliseconds: yields to other work in between.
    await nextRound();
  }
  return tokens;
}

/** Cut before a space if possible: a token begins with the space before its word. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  for (const { 0: run, index } of text.matchAll(/\S+|\s+/g)) {
    if (run.length > PIECE_CHARS) {
      pieces.push(text.slice(from, index), ...(run.match(PIECES) ?? []));
      from = index + run.length;
    } else if (run === ' ' && index - from > ROUND_CHARS) {
      pieces.push(text.slice(from, index));
      from = index;
    }
  }
  return [...pieces, text.slice(from)];
}

/** Returns the 422 message for a prompt that is too long, or null. */
export async function systemPromptProblem(text: string): Promise<string | null> {
  // No token is shorter than a byte.
  if (Buffer.byteLength(text) <= LIMITS.systemPromptTokens) return null;
  const tokens = await countPromptTokens(text);
  return tokens > LIMITS.systemPromptTokens
    ? `system_prompt exceeds ${LIMITS.systemPromptTokens} tokens (got ${tokens})`
    : null;
}
