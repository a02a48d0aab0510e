/** What the sound of a call tells beyond its words, from the loudness of both sides: who spoke over whom, and which silences were long and whose they were. */
import type { SessionDetail } from '../api/types.ts';
import { milliseconds, words } from '../parts/format.ts';
import { type DecodedRecording, STEP_MS } from './decode-recording.ts';

/** Something a listener would notice. */
export interface AudioEvent {
  readonly kind: 'interruption' | 'silence';
  readonly atMs: number;
  readonly durationMs: number;
  readonly text: string;
}

/** Loudness above which somebody speaks, and gaps within speech that are no silence. */
const VOICE = 0.03;
const GAP_MS = 400;
/** Overlaps and silences shorter than these are part of any conversation. */
const OVERLAP_MS = 300;
const SILENCE_MS = 1_500;

interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Interruptions and long silences in order of time. */
export function audioEvents(
  recording: Pick<DecodedRecording, 'user' | 'agent' | 'startMs' | 'durationMs'>,
  turns: SessionDetail['turns'],
): AudioEvent[] {
  const [user, agent] = [stretches(recording.user), stretches(recording.agent)];
  const interruptions = user.flatMap((speech): AudioEvent[] => {
    const over = agent.find(({ fromMs, toMs }) => fromMs < speech.fromMs && toMs - speech.fromMs >= OVERLAP_MS);
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
  return [...interruptions, ...silences(recording, { user, agent }, turns)].sort((a, b) => a.atMs - b.atMs);
}

function silences(
  { startMs, durationMs }: Pick<DecodedRecording, 'startMs' | 'durationMs'>,
  { user, agent }: { readonly user: readonly Stretch[]; readonly agent: readonly Stretch[] },
  turns: SessionDetail['turns'],
): AudioEvent[] {
  const speech = [...user.map((stretch) => ({ ...stretch, by: 'user' })), ...agent.map((stretch) => ({ ...stretch, by: 'agent' }))].sort(
    (a, b) => a.fromMs - b.fromMs,
  );
  const found: AudioEvent[] = [];
  let last: { readonly toMs: number; readonly by: string } = { toMs: 0, by: 'nobody' };
  for (const next of [...speech, { fromMs: durationMs, toMs: durationMs, by: 'end' }]) {
    const length = next.fromMs - last.toMs;
    if (length >= SILENCE_MS)
      found.push({
        kind: 'silence',
        atMs: last.toMs,
        durationMs: length,
        text: reasonOf(last.by, next.by, { fromMs: startMs + last.toMs, toMs: startMs + next.fromMs }, turns),
      });
    if (next.toMs > last.toMs) last = next;
  }
  return found;
}

/** Whose silence it was; where a turn's waterfall falls into it, what it was spent on. */
function reasonOf(before: string, after: string, { fromMs, toMs }: Stretch, turns: SessionDetail['turns']): string {
  const turn = turns.find(({ speech_ended_at }) => Date.parse(speech_ended_at) >= fromMs - 500 && Date.parse(speech_ended_at) <= toMs);
  if (after === 'agent' && turn) {
    const parts = (['endpoint_ms', 'transcript_ms', 'first_token_ms', 'first_sentence_ms', 'first_audio_ms', 'playout_ms'] as const)
      .filter((name) => turn[name] >= 50)
      .map((name) => `${words(name.replace(/_ms$/, '')).toLowerCase()} ${milliseconds(turn[name])}`);
    return `The agent prepared turn ${turn.turn_id}: ${parts.join(', ')}`;
  }
  if (before === 'nobody') return 'Before the first words';
  if (after === 'end') return 'Until the call ended';
  if (before === 'agent') return after === 'user' ? 'The caller’s time to answer' : 'The agent paused, or waited for a tool or a silent caller';
  return after === 'agent' ? 'The agent took its time; no turn was measured here' : 'The caller paused';
}

/** When a side spoke. */
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
