/** The waterfall of an answer: where its time went, for the call's timeline. */
import { type Draft, emit } from '../draft.ts';
import type { Answer } from '../turn-state.ts';

/** Reports consecutive parts of the critical path, each starting where the previous one ended. */
export function reportWaterfall(draft: Draft, answer: Answer, wireMs: number): void {
  const { turn, generation } = answer;
  const facts = [
    Math.min(turn.dueMs, turn.committedMs),
    turn.committedMs,
    generation.tokenMs,
    generation.pieceMs,
    generation.audioMs,
    wireMs,
  ];
  let reachedMs = turn.speechEndMs;
  const [endpoint = 0, transcript = 0, token = 0, sentence = 0, audio = 0, playout = 0] = facts.map(
    (fact) => {
      const untilMs = Math.min(Math.max(reachedMs, fact ?? reachedMs), Math.max(reachedMs, wireMs));
      const partMs = untilMs - reachedMs;
      reachedMs = untilMs;
      return partMs;
    },
  );
  emit(draft, {
    do: 'reportTurn',
    waterfall: {
      turn_id: turn.turnId,
      speechEndMs: turn.speechEndMs,
      endpoint_ms: endpoint,
      transcript_ms: transcript,
      first_token_ms: token,
      first_sentence_ms: sentence,
      first_audio_ms: audio,
      playout_ms: playout,
      total_ms: reachedMs - turn.speechEndMs,
      endpoint_rule: turn.rule,
      ...(turn.expectation === undefined ? {} : { expectation: turn.expectation }),
      speculative: answer.isSpeculative,
    },
  });
}
