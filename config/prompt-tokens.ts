/** Length of a system prompt in tokens of the `o200k_base` tokenizer (supplement 2.3). */
import { LIMITS } from './limits.ts';

/** Longest run of characters without a break that is tokenized as one piece: the tokenizer's time grows with its square. */
const PIECE_CHARS = 256;
const PIECES = /.{1,256}/gsu;

/** Counts tokens; a run of more than 256 characters without a space is counted in parts, which can only come out a few tokens high. */
async function countPromptTokens(text: string): Promise<number> {
  // Loaded when first needed: the vocabulary costs 200 ms and tens of megabytes, and most prompts are short.
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  return piecesOf(text).reduce((sum, piece) => sum + countTokens(piece, { disallowedSpecial: new Set() }), 0);
}

function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  for (const { 0: run, index } of text.matchAll(/\S+|\s+/g)) {
    if (run.length <= PIECE_CHARS) continue;
    pieces.push(text.slice(from, index), ...(run.match(PIECES) ?? []));
    from = index + run.length;
  }
  return [...pieces, text.slice(from)];
}

/** The 422 text of a prompt that is too long, or null. */
export async function systemPromptProblem(text: string): Promise<string | null> {
  // No token is shorter than a byte.
  if (Buffer.byteLength(text) <= LIMITS.systemPromptTokens) return null;
  const tokens = await countPromptTokens(text);
  return tokens > LIMITS.systemPromptTokens ? `system_prompt exceeds ${LIMITS.systemPromptTokens} tokens (got ${tokens})` : null;
}
