/**
 * The agent's first words (`prompt.first_message_mode`): made ready while it rings, said once the
 * conversation begins.
 */

import { type Draft, emit } from '../draft.ts';
import { freeFloor, onGenerated } from '../floor/answering.ts';
import { eventTurn } from '../floor/event-turn.ts';
import { playAnswer, prepare, speak, watchProgress } from '../floor/floor.ts';
import { startGeneration } from '../floor/generating.ts';
import { runCall } from '../floor/tool-calls.ts';
import type { Answer, Prepared } from '../turn-state.ts';

/**
 * Makes the greeting ready without playing it. What is to be disclosed comes first; a fixed greeting is said
 * with it in one breath.
 */
export function prepareGreeting(draft: Draft): Prepared {
  const { greeting, phrases, disclosure = '' } = draft.config;
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
  const answer: Answer = {
    turn,
    rounds: [],
    generation,
    isSpeculative: false,
    isRecorded: false,
    isMeasured: false,
    hasHoldLine: true,
    heard: {},
  };
  return { answer, notice };
}

/**
 * Says the prepared greeting, or listens where there is none. `quietMs` is since when nobody has said
 * anything.
 */
export function greet(draft: Draft, { answer, notice }: Prepared, quietMs = draft.atMs): void {
  if (notice) {
    emit(draft, { do: 'play', replyId: notice.replyId });
    speak(draft, notice, answer);
  } else if (answer) {
    watchProgress(draft, quietMs);
    playAnswer(draft, answer);
  } else freeFloor(draft);
  if (!answer) return;
  // What it was not allowed to do while it rang.
  for (const { call } of answer.generation.calls) runCall(draft, call.callId);
  if (answer.generation.status === 'done') onGenerated(draft);
}
