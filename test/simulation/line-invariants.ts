/** Invariants of calls that are answered by automated lines. */
import type { SimulatedCall } from './simulate-call.ts';
import type { TrueStretch } from './simulated-far-end.ts';

/** One sentence of eight words or so. */
const LONGEST_SENTENCE_MS = 3_000;
/** A person waits this long at most for the first word after their own, even if a greeting is composed. */
const LONGEST_ANSWER_MS = 4_000;

/** Every invariant that the call violates. */
export function lineViolations({ farEnd, reports, stepViolations, legViolations }: SimulatedCall): string[] {
  return [
    ...stepViolations,
    ...legViolations,
    ...farEnd.flatMap(musicViolation),
    ...farEnd.flatMap(answerViolation),
    ...endViolations(farEnd, reports),
  ];
}

function musicViolation({ fromMs, is, talkedMs }: TrueStretch): string[] {
  return talkedMs > LONGEST_SENTENCE_MS
    ? [`the agent talks into the music of the ${is} at ${fromMs} for ${talkedMs} ms`]
    : [];
}

function answerViolation({ answeredMs, firstWordsMs, fromMs, is, untilMs }: TrueStretch): string[] {
  if (is !== 'person' || firstWordsMs === null || untilMs < firstWordsMs + LONGEST_ANSWER_MS) return [];
  return answeredMs === null || answeredMs > firstWordsMs + LONGEST_ANSWER_MS
    ? [`the person who comes at ${fromMs} is not answered within ${LONGEST_ANSWER_MS} ms`]
    : [];
}

/** These agents have no tool to hang up, no people who are silent for long, and no mailboxes. */
function endViolations(farEnd: readonly TrueStretch[], reports: SimulatedCall['reports']): string[] {
  const last = reports.at(-1);
  if (last?.type !== 'ended') return ['the call never ended'];
  if (last.end_reason !== 'agent_hangup') return [];
  const gaveUp = reports.some((report) => report.type === 'line' && report.line.ended_by === 'gave_up');
  return [
    ...(farEnd.at(-1)?.is === 'person' ? ['the agent hangs up on a person'] : []),
    ...(gaveUp ? [] : ['the agent hangs up without having given up']),
  ];
}
