/** The watchdog of every phase in which the agent has the floor. Timer: `progress`. */

import { type Draft, emit, explain, startTimer } from '../draft.ts';
import { PHASE_TIMERS } from '../phases.ts';
import type { Answer, Generation } from '../turn-state.ts';
import { onFailed } from './answering.ts';
import { cut, PROGRESS_MS, playAnswer, recordHeard, watchProgress } from './floor.ts';
import { bridge } from './hold-line.ts';
import { onCleared } from './reply-and-playout.ts';

/** Every such phase gets somewhere, or is made to. */
export function onProgressDue(draft: Draft): void {
  const { phase } = draft;
  if (!PHASE_TIMERS[phase.is].owns.includes('progress')) return;
  const dueMs = draft.progressMs + PROGRESS_MS;
  startTimer(draft, 'progress', draft.atMs < dueMs ? dueMs : draft.atMs + PROGRESS_MS);
  // Without a leg nothing can be played: the call itself knows how long that may last.
  // A pause has a deadline of its own.
  if (draft.atMs < dueMs || phase.is === 'paused' || (draft.isLegLost && phase.is === 'speaking')) return;
  explain(draft, {
    about: 'progress',
    rule: `stalled_${phase.is}`,
    anchorMs: draft.progressMs,
    deadlineMs: dueMs,
  });
  if (phase.is === 'clearing') {
    // The leg does not answer: nothing is known to have been heard.
    recordHeard(draft, phase.utterance, '');
    onCleared(draft, true);
  } else if (phase.is === 'answering') onAnswerStalled(draft, phase.answer);
  else if (phase.is === 'speaking') onSpeechStalled(draft, phase.answer);
}

function onAnswerStalled(draft: Draft, answer: Answer): void {
  const { generation, turn } = answer;
  const isTool = generation.calls.some(({ result }) => result === null);
  if (turn.fallback !== null && !isTool && !isHeard(answer)) {
    // A greeting is not waited for: its fixed words are said instead.
    emit(draft, { do: 'discard', replyId: generation.replyId });
    onFailed(draft, {
      stage: stageOf(generation),
      message: 'the model did not begin in time',
      status: null,
      isRetryable: false,
    });
    return;
  }
  const movedMs = Math.max(generation.startedMs, generation.tokenMs ?? 0, generation.pieceMs ?? 0);
  if (isTool || draft.atMs - movedMs < draft.config.generationCapMs || !answer.hasHoldLine) {
    bridge(draft, answer);
    return;
  }
  emit(draft, { do: 'discard', replyId: generation.replyId });
  onFailed(draft, {
    stage: stageOf(generation),
    message: 'the model stopped answering',
    status: null,
    isRetryable: true,
  });
  // It is asked again, which takes its time too.
  if (draft.phase.is === 'answering') bridge(draft, draft.phase.answer);
}

function isHeard({ heard }: Answer): boolean {
  return Object.values(heard).some((text) => text !== '');
}

/** Text that never became audio is the voice's failure. */
function stageOf(generation: Generation): 'model' | 'synthesis' {
  return generation.text === '' ? 'model' : 'synthesis';
}

function onSpeechStalled(draft: Draft, answer: Answer | null): void {
  const { phase } = draft;
  if (phase.is !== 'speaking') return;
  const { utterance } = phase;
  const isGenerating =
    answer?.generation.replyId === utterance.replyId && answer.generation.status !== 'done';
  // Words whose voice is late are still the best there is to say: given up at once, they would leave the
  // caller with nothing.
  if (
    (utterance.startedMs === null || isGenerating) &&
    draft.atMs - draft.progressMs < draft.config.generationCapMs
  )
    return;
  if (utterance.kind === 'hold' && utterance.startedMs === null && answer) {
    // Only the line that bridges the wait is given up, never the answer it was to bridge.
    emit(draft, { do: 'discard', replyId: utterance.replyId });
    playAnswer(draft, answer);
    watchProgress(draft);
  } else cut(draft, 'stalled');
}
