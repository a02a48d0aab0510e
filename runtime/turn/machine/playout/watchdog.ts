/** The watchdog of every phase in which the agent has the floor. Timer: `progress`. */

import { onFailed } from '../answering/answering.ts';
import { sayHoldLine } from '../answering/hold-line.ts';
import { type Draft, emit, explain } from '../draft.ts';
import { cut, playAnswer, progress, recordHeard } from '../floor/floor.ts';
import { startPhaseTimer } from '../phases.ts';
import { PROGRESS_MS, timersOf } from '../timers.ts';
import type { Answer, Generation } from '../turn-state.ts';
import { onCleared } from './reply-and-playout.ts';

/** Every such phase makes progress, or is forced to. */
export function onProgressDue(draft: Draft): void {
  const { phase } = draft;
  if (!timersOf(phase).owns.includes('progress')) return;
  const dueMs = draft.progressMs + PROGRESS_MS;
  startPhaseTimer(draft, 'progress', draft.atMs < dueMs ? dueMs : draft.atMs + PROGRESS_MS);
  // Without a leg nothing can be played, and the call itself limits that time.
  if (draft.atMs < dueMs || (draft.isLegLost && phase.is === 'speaking')) return;
  explain(draft, {
    about: 'progress',
    rule: `stalled_${phase.is}`,
    anchorMs: draft.progressMs,
    deadlineMs: dueMs,
  });
  if (phase.is === 'clearing') {
    // The leg does not answer: nothing counts as heard.
    recordHeard(draft, phase.utterance, '');
    onCleared(draft, true);
  } else if (phase.is === 'answering') onAnswerStalled(draft, phase.answer);
  else if (phase.is === 'speaking') onSpeechStalled(draft, phase.answer);
}

function onAnswerStalled(draft: Draft, answer: Answer): void {
  const { generation, turn } = answer;
  const isTool = generation.calls.some(({ result }) => result === null);
  if (turn.fallback !== null && !isTool && !isHeard(answer)) {
    // The greeting's generation is too slow: its fixed words are spoken instead.
    emit(draft, { do: 'discard', replyId: generation.replyId });
    onFailed(draft, {
      stage: stageOf(generation),
      message: 'the model did not start in time',
      status: null,
      isRetryable: false,
    });
    return;
  }
  const lastOutputMs = Math.max(generation.startedMs, generation.tokenMs ?? 0, generation.pieceMs ?? 0);
  if (isTool || draft.atMs - lastOutputMs < draft.config.generationCapMs || !answer.hasHoldLine) {
    sayHoldLine(draft, answer);
    return;
  }
  emit(draft, { do: 'discard', replyId: generation.replyId });
  onFailed(draft, {
    stage: stageOf(generation),
    message: 'the model stopped answering',
    status: null,
    isRetryable: true,
  });
  // The model is asked again, which also takes time.
  if (draft.phase.is === 'answering') sayHoldLine(draft, draft.phase.answer);
}

function isHeard({ heard }: Answer): boolean {
  return Object.values(heard).some((text) => text !== '');
}

/** Text without audio is the voice's failure. */
function stageOf(generation: Generation): 'model' | 'synthesis' {
  return generation.text === '' ? 'model' : 'synthesis';
}

function onSpeechStalled(draft: Draft, answer: Answer | null): void {
  const { phase } = draft;
  if (phase.is !== 'speaking') return;
  const { utterance } = phase;
  const isGenerating =
    answer?.generation.replyId === utterance.replyId && answer.generation.status !== 'done';
  // Text whose audio is late is still the best answer: discarding it at once would leave the caller with
  // nothing.
  if (
    (utterance.startedMs === null || isGenerating) &&
    draft.atMs - draft.progressMs < draft.config.generationCapMs
  )
    return;
  if (utterance.kind === 'hold' && utterance.startedMs === null && answer) {
    // Only the hold line is discarded, never the answer behind it.
    emit(draft, { do: 'discard', replyId: utterance.replyId });
    progress(draft);
    playAnswer(draft, answer);
  } else cut(draft, 'stalled');
}
