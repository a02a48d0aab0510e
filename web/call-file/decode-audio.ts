/** The stored stretches of both sides as one recording. The browser decodes FLAC and WAV. */
import {
  type DecodedRecording,
  type DecodedStretch,
  joinStretches,
  rateFor,
} from '../console/src/calls/decode-recording.ts';
import type { ShownCall } from './read-call.ts';

/** Start times are rounded: only a larger distance between two stretches is a gap. */
const JOIN_MS = 20;
/** Longer than any call. The labels of a file from elsewhere may name any time. */
const LONGEST_MS = 8 * 60 * 60_000;

/** Decodes a call's sound; null without any. Stretches that cannot be decoded are silent. */
export async function decodeAudio(audio: ShownCall['audio']): Promise<DecodedRecording | null> {
  if (audio.length === 0) return null;
  const endOf = ({ label }: ShownCall['audio'][number]) =>
    label.start_ms + (label.samples * 1_000) / Math.max(1, label.rate_hz);
  const startMs = Math.min(...audio.map(({ label }) => label.start_ms));
  const lengthMs = Math.max(...audio.map(endOf)) - startMs;
  if (lengthMs > LONGEST_MS) return null;
  const rateHz = rateFor(lengthMs);
  const ends = new Map<string, number>();
  const stretches: DecodedStretch[] = [];
  for (const { label, file } of audio.toSorted((a, b) => a.label.start_ms - b.label.start_ms)) {
    const samples = await samplesOf(file, rateHz);
    if (!samples) continue;
    const due = Math.round(((label.start_ms - startMs) * rateHz) / 1_000);
    const end = ends.get(label.side) ?? 0;
    const offset = due - end > (JOIN_MS * rateHz) / 1_000 ? due : end;
    ends.set(label.side, offset + samples.length);
    stretches.push({ side: label.side === 'agent' ? 1 : 0, samples, offset });
  }
  return joinStretches(stretches, startMs, rateHz);
}

async function samplesOf(file: Uint8Array, rateHz: number): Promise<Float32Array | null> {
  // A copy: decoding takes the bytes away.
  const bytes = file.slice().buffer as ArrayBuffer;
  const decoded = await new OfflineAudioContext(1, 1, rateHz).decodeAudioData(bytes).catch(() => null);
  return decoded?.getChannelData(0) ?? null;
}
