/**
 * The agent's first words (`prompt.first_message_mode`): prepared while it rings, spoken once the
 * conversation begins.
 */

import { freeFloor, onGenerated } from '../answering/answering.ts';
import { type Draft, emit } from '../draft.ts';
import { eventTurn } from '../floor/event-turn.ts';
import { playAnswer, prepare, speak } from '../floor/floor.ts';
import { newAnswer, startGeneration } from '../floor/generating.ts';
import { runCall } from '../floor/tool-calls.ts';
import type { OpeningWords } from '../turn-state.ts';

/**
 * Prepares the greeting without playing it. The disclosure comes first; a fixed greeting is spoken together
 * with it.
 */
export function prepareGreeting(draft: Draft): OpeningWords {
  const { phrases, disclosure = '' } = draft.config;
  const { greeting } = draft.texts;
  const opening = [disclosure, greeting.mode === 'say' ? greeting.text : '']
    .filter((text) => text !== '')
    .join(' ');
  const notice =
    opening === ''
      ? null
      : prepare(draft, opening, { kind: 'notice', turnId: null, isHeardOut: disclosure !== '' });
  if (greeting.mode !== 'generate') return { answer: null, notice };
  const turn = eventTurn(
    draft,
    `[The call has just begun. ${greeting.instruction}]`,
    greeting.fallback === '' ? phrases.trouble : greeting.fallback,
  );
  const generation = startGeneration(draft, turn, { rounds: [], attempt: 1, isSpeculative: false });
  return { answer: newAnswer(turn, generation, { hasHoldLine: true }), notice };
}

/** Speaks the prepared greeting, or listens without one. Both sides have been silent since `quietMs`. */
export function greet(draft: Draft, { answer, notice }: OpeningWords, quietMs = draft.atMs): void {
  if (notice) {
    emit(draft, { do: 'play', replyId: notice.replyId });
    speak(draft, notice, answer);
  } else if (answer) {
    draft.progressMs = quietMs;
    playAnswer(draft, answer);
  } else freeFloor(draft);
  if (!answer) return;
  // Tool calls it was not allowed to run while it rang.
  for (const { call } of answer.generation.calls) runCall(draft, call.callId);
  if (answer.generation.status === 'done') onGenerated(draft);
}
