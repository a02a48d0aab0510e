/**
 * Messages of Google's live recognition.
 *
 * Source: google/cloud/speech/v1/cloud_speech.proto, from which the numbers of the fields are.
 */
import {
  bytesOf,
  decodeMessage,
  encodeMessage,
  type Field,
  numberOf,
  textOf,
} from './connection/protobuf.ts';

const LINEAR16 = 1;
const NANOS_PER_MS = 1e6;

/** The configuration in the first message of a call. */
export interface GoogleConfig {
  readonly rateHz: number;
  /** BCP 47. */
  readonly locale: string;
  readonly model: string;
  readonly phrases: readonly string[];
}

/** Words of an answer. Times are ms since the first audio of the call. */
export interface GoogleResult {
  readonly text: string;
  readonly isFinal: boolean;
  readonly startMs: number | null;
  readonly endMs: number | null;
}

/** An answer. */
export interface GoogleAnswer {
  /** An error that ends the call, as a gRPC status; null: none. */
  readonly error: { readonly code: number; readonly message: string } | null;
  readonly results: readonly GoogleResult[];
}

/** `StreamingRecognizeRequest` with the configuration. */
export function configRequest({ rateHz, locale, model, phrases }: GoogleConfig): Buffer {
  const context = encodeMessage(phrases.map((phrase) => [1, phrase] as const));
  const recognition = encodeMessage([
    [1, LINEAR16],
    [2, rateHz],
    [3, locale],
    [6, phrases.length > 0 ? context : undefined],
    // Times of words, then punctuation.
    [8, true],
    [11, true],
    [13, model],
  ]);
  const streaming = encodeMessage([
    [1, recognition],
    // Interim results, then events of voice activity.
    [3, true],
    [5, true],
  ]);
  return encodeMessage([[1, streaming]]);
}

/** `StreamingRecognizeRequest` with audio. */
export function audioRequest(audio: Uint8Array): Buffer {
  return encodeMessage([[2, audio]]);
}

/** Reads a `StreamingRecognizeResponse`; null for bytes that are none. */
export function readAnswer(bytes: Uint8Array): GoogleAnswer | null {
  const fields = decodeMessage(bytes);
  if (!fields) return null;
  const results = bytesOf(fields, 2).map(resultOf);
  const [error] = bytesOf(fields, 1).map((status) => decodeMessage(status) ?? []);
  return {
    error: error ? { code: numberOf(error, 1), message: textOf(error, 2) } : null,
    results: results.filter((result) => result !== null),
  };
}

function resultOf(bytes: Uint8Array): GoogleResult | null {
  const result = decodeMessage(bytes);
  const [best] = bytesOf(result ?? [], 1);
  const alternative = best && decodeMessage(best);
  if (!result || !alternative) return null;
  const words = bytesOf(alternative, 3).map((word) => decodeMessage(word) ?? []);
  const [first, last] = [words[0], words.at(-1)];
  return {
    text: textOf(alternative, 1).trim(),
    isFinal: numberOf(result, 2) === 1,
    startMs: first ? (durationMs(first, 1) ?? 0) : null,
    endMs: (last && durationMs(last, 2)) ?? durationMs(result, 4),
  };
}

/** A `google.protobuf.Duration`; null if it is absent. */
function durationMs(fields: readonly Field[], number: number): number | null {
  const bytes = bytesOf(fields, number).at(-1);
  const duration = bytes && decodeMessage(bytes);
  if (!duration) return null;
  return numberOf(duration, 1) * 1_000 + Math.round(numberOf(duration, 2) / NANOS_PER_MS);
}
