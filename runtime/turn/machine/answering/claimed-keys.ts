/**
 * A reply says that it presses keys, and presses none: the model believes it has, and waits for a menu that
 * waits for the keys. These words are not said, and the model is asked again with the reason, once. The words
 * of the second reply are said if they may mean something else: something entered elsewhere, or keys that the
 * agent has pressed before in this call.
 */
import { isPressKeys } from '../../../tools/press-keys.ts';
import { claimsKeysForSure } from '../../text/claimed-keys.ts';
import { type Draft, emit, explain } from '../draft.ts';
import { answerOf } from '../floor/generating.ts';
import { dropWords, releaseWords } from '../floor/reply-words.ts';
import type { Answer } from '../turn-state.ts';

/**
 * Judges the held words of a reply that the model has finished. Returns the answer whose reply is to be made
 * again; null if the reply stands as it is now.
 */
export function refuseClaim(draft: Draft): Answer | null {
  const answer = answerOf(draft);
  const held = answer?.generation.held;
  if (!answer || held === undefined) return null;
  const { generation, rounds } = answer;
  const isFirst = !rounds.some(({ isRefused }) => isRefused);
  const mayBeTrue = hasPressed(draft) || !claimsKeysForSure(held, draft.config.language);
  if (rounds.some(({ calls }) => calls.some(({ mode }) => mode === 'keys')) || (!isFirst && mayBeTrue)) {
    releaseWords(draft);
    return null;
  }
  dropWords(draft);
  explain(draft, {
    about: 'failure',
    rule: 'claimed_keys',
    anchorMs: generation.startedMs,
    deadlineMs: draft.atMs,
  });
  const kept = answerOf(draft) ?? answer;
  // A reply that also calls a tool goes on from there.
  if (!isFirst || generation.calls.length > 0) return null;
  if (generation.text === '') emit(draft, { do: 'discard', replyId: generation.replyId });
  const { calls, replyId, text } = kept.generation;
  return { ...kept, rounds: [...rounds, { replyId, text, calls, isRefused: true }] };
}

function hasPressed({ history }: Draft): boolean {
  return history.some(
    (message) =>
      message.role === 'assistant' && message.toolCalls?.some(({ toolName }) => isPressKeys(toolName)),
  );
}
