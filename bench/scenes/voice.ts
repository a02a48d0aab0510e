/**
 * The stand-in's voice: Flite at 24 kHz, with the true times of its words. These times are used to judge the
 * product's estimate of heard words.
 */

import { VOICED_PEAK } from '#caller/rtp.ts';
import { speak } from '#caller/spoken.ts';

const RATE_HZ = 24_000;
/**
 * Correction for a span measured from the start of the first packet to the start of the last: on average the
 * first sound begins 10 ms into its 20 ms packet, and the last packet continues for 20 ms.
 */
const PACKETS_ADD_MS = 10;
/** Silence kept before the first sound. */
const LEAD_IN_MS = 20;

/** A spoken text; times in ms from the first sample. */
export interface VoicedText {
  readonly samples: Int16Array;
  readonly durationMs: number;
  /** First audible sound. */
  readonly startMs: number;
  /** Last audible sound of each word; inaudible ends are ignored. */
  readonly wordEndsMs: readonly number[];
}

const voiced = new Map<string, VoicedText>();

/** Synthesises one piece; the result is cached. */
export function voicePiece(text: string): VoicedText {
  const known = voiced.get(text) ?? speakPiece(text);
  voiced.set(text, known);
  return known;
}

function speakPiece(text: string): VoicedText {
  const { samples, startMs, words } = speak(text, { rateHz: RATE_HZ });
  const skippedMs = Math.max(0, startMs - LEAD_IN_MS);
  const kept = samples.subarray(Math.round((skippedMs * RATE_HZ) / 1_000));
  const wordEndsMs = words.map(({ endMs }) => {
    const end = Math.round(((endMs - skippedMs) * RATE_HZ) / 1_000);
    return (kept.subarray(0, end).findLastIndex(isAudible) * 1_000) / RATE_HZ;
  });
  return {
    samples: kept,
    durationMs: (kept.length * 1_000) / RATE_HZ,
    startMs: startMs - skippedMs,
    wordEndsMs,
  };
}

function isAudible(sample: number): boolean {
  return Math.abs(sample) >= VOICED_PEAK;
}

/**
 * Number of words of a reply finished after `heardMs` from its first audible packet to its last, if it was
 * spoken in these pieces.
 */
export function wordsHeard(pieces: readonly string[], heardMs: number): number {
  const first = pieces[0] === undefined ? 0 : voicePiece(pieces[0]).startMs;
  const playedMs = first + heardMs + PACKETS_ADD_MS;
  let [startMs, count] = [0, 0];
  for (const piece of pieces) {
    const { durationMs, wordEndsMs } = voicePiece(piece);
    count += wordEndsMs.filter((endMs) => startMs + endMs <= playedMs).length;
    startMs += durationMs;
  }
  return count;
}

/** The pieces in which a reply was spoken, found among all texts the voice received. */
export function piecesOf(reply: string, spoken: ReadonlySet<string>): string[] {
  const pieces: string[] = [];
  for (let rest = reply; rest !== ''; ) {
    const piece = [...spoken]
      .filter((text) => rest.startsWith(text))
      .sort((one, other) => other.length - one.length)[0];
    if (piece === undefined) return pieces;
    pieces.push(piece);
    rest = rest.slice(piece.length).trimStart();
  }
  return pieces;
}
