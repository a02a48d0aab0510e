/**
 * Loads a recording into the page: decodes both speakers, aligns them on one time line, and produces a stereo
 * WAV for playback and loudness values for drawing.
 */
import type { Recording } from '../api/types.ts';

/** Time step of the loudness values, ms. */
export const STEP_MS = 20;
/** Long calls are decoded at the telephone sample rate, to fit an hour into memory. */
const [RATE_HZ, LONG_RATE_HZ, LONG_MS] = [16_000, 8_000, 20 * 60_000];

/** Both sides of a call. */
export interface DecodedRecording {
  /** Object URL of the stereo WAV: caller left, agent right. The user of this object must revoke it. */
  readonly url: string;
  readonly startMs: number;
  readonly durationMs: number;
  /** Peak of each step, 0 to 1. A person joined by a transfer counts as the caller's side. */
  readonly user: Float32Array;
  readonly agent: Float32Array;
}

/** Fetches and decodes the tracks. Throws if one cannot be fetched or is not audio. */
export async function decodeRecording(recording: Recording, signal: AbortSignal): Promise<DecodedRecording> {
  const tracks = recording.tracks.filter((track) => track.url !== null && track.started_at !== null);
  const rateHz = rateFor(Math.max(...tracks.map((track) => track.duration_ms ?? 0)));
  const startMs = Math.min(...tracks.map((track) => Date.parse(track.started_at ?? '')));
  const decoded = await Promise.all(
    tracks.map(async (track): Promise<DecodedStretch> => {
      const response = await fetch(track.url ?? '', { signal });
      if (!response.ok) throw new Error(`The recording cannot be fetched (${response.status})`);
      const audio = await new OfflineAudioContext(1, 1, rateHz).decodeAudioData(await response.arrayBuffer());
      const offset = Math.round(((Date.parse(track.started_at ?? '') - startMs) * rateHz) / 1_000);
      return { side: track.role === 'agent' ? 1 : 0, samples: audio.getChannelData(0), offset };
    }),
  );
  return joinStretches(decoded, startMs, rateHz);
}

/** A part of one side, decoded. */
export interface DecodedStretch {
  /** 0 is the caller. */
  readonly side: 0 | 1;
  readonly samples: Float32Array;
  /** Of its first sample, in samples since the start. */
  readonly offset: number;
}

/** Sample rate, in Hz, at which a recording of this length is decoded. */
export function rateFor(longestMs: number): number {
  return longestMs > LONG_MS ? LONG_RATE_HZ : RATE_HZ;
}

/** One recording of these stretches; they begin at `startMs`, wall time. */
export function joinStretches(
  decoded: readonly DecodedStretch[],
  startMs: number,
  rateHz: number,
): DecodedRecording {
  const length = Math.max(0, ...decoded.map(({ samples, offset }) => samples.length + offset));
  const stereo = new Int16Array(length * 2);
  for (const { side, samples, offset } of decoded) mixInto(stereo, side, samples, offset);
  return {
    url: URL.createObjectURL(new Blob([wavHeader(stereo.byteLength, rateHz), stereo], { type: 'audio/wav' })),
    startMs,
    durationMs: (length * 1_000) / rateHz,
    user: loudness(stereo, 0, rateHz),
    agent: loudness(stereo, 1, rateHz),
  };
}

function mixInto(stereo: Int16Array, side: number, samples: Float32Array, offset: number): void {
  for (let index = 0; index < samples.length; index++) {
    const at = (index + offset) * 2 + side;
    stereo[at] = Math.max(
      -32_768,
      Math.min(32_767, (stereo[at] ?? 0) + Math.round((samples[index] ?? 0) * 32_767)),
    );
  }
}

function loudness(stereo: Int16Array, side: number, rateHz: number): Float32Array {
  const perStep = (rateHz * STEP_MS) / 1_000;
  const steps = new Float32Array(Math.ceil(stereo.length / 2 / perStep));
  for (let step = 0; step < steps.length; step++) {
    let peak = 0;
    const end = Math.min(stereo.length, (step + 1) * perStep * 2);
    for (let at = step * perStep * 2 + side; at < end; at += 2)
      peak = Math.max(peak, Math.abs(stereo[at] ?? 0));
    steps[step] = peak / 32_768;
  }
  return steps;
}

/** RIFF header for 16-bit stereo. */
function wavHeader(dataBytes: number, rateHz: number): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(44));
  const text = (at: number, value: string) => {
    for (let index = 0; index < value.length; index++) view.setUint8(at + index, value.charCodeAt(index));
  };
  text(0, 'RIFF');
  view.setUint32(4, 36 + dataBytes, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 2, true);
  view.setUint32(24, rateHz, true);
  view.setUint32(28, rateHz * 4, true);
  view.setUint16(32, 4, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, dataBytes, true);
  return view.buffer as ArrayBuffer;
}
