/**
 * Notable moments of a call: interruptions of the agent, detected from the loudness of both sides, and the
 * silences that the session explains.
 */
import type { SessionDetail } from '../api/types.ts';
import { type DecodedRecording, STEP_MS } from './decode-recording.ts';

/** A notable moment for a listener. */
export interface AudioEvent {
  readonly kind: 'interruption' | 'silence' | 'divergence';
  readonly atMs: number;
  readonly durationMs: number;
  readonly text: string;
}

/** Minimum loudness of speech, and longest gap within speech that does not count as silence. */
const VOICE = 0.03;
const GAP_MS = 400;
/** Shorter overlaps are normal in conversation. */
const OVERLAP_MS = 300;

interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Interruptions and silences in chronological order. */
export function audioEvents(
  { user, agent, startMs }: Pick<DecodedRecording, 'user' | 'agent' | 'startMs'>,
  silences: SessionDetail['silences'],
): AudioEvent[] {
  const replies = stretches(agent);
  const interruptions = stretches(user).flatMap((speech): AudioEvent[] => {
    const over = replies.find(
      ({ fromMs, toMs }) => fromMs < speech.fromMs && toMs - speech.fromMs >= OVERLAP_MS,
    );
    if (!over) return [];
    return [
      {
        kind: 'interruption',
        atMs: speech.fromMs,
        durationMs: Math.min(over.toMs, speech.toMs) - speech.fromMs,
        text: 'The caller spoke while the agent was speaking',
      },
    ];
  });
  const explained = silences.map(
    ({ started_at, duration_ms, explanation }): AudioEvent => ({
      kind: 'silence',
      atMs: Math.max(0, Date.parse(started_at) - startMs),
      durationMs: duration_ms,
      text: explanation,
    }),
  );
  return [...interruptions, ...explained].sort((a, b) => a.atMs - b.atMs);
}

/** Whether this is a reply that stops before the end of a sentence: the transcript holds what was heard. */
export function isCutShort(item: SessionDetail['items'][number]): boolean {
  return item.type === 'message' && item.role === 'assistant' && /[\p{L}\p{N},]$/u.test(item.content.trim());
}

/** Stretches in which a side spoke. */
function stretches(loudness: Float32Array): Stretch[] {
  const found: Stretch[] = [];
  for (const [step, level] of loudness.entries()) {
    if (level < VOICE) continue;
    const [fromMs, toMs] = [step * STEP_MS, (step + 1) * STEP_MS];
    const last = found.at(-1);
    if (last && fromMs - last.toMs <= GAP_MS) found[found.length - 1] = { fromMs: last.fromMs, toMs };
    else found.push({ fromMs, toMs });
  }
  return found;
}
