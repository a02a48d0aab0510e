/** A synthesis by one POST, whose answer is passed on as it arrives. */
import type { Clock } from '#base/clock.ts';
import { request } from '#base/undici.ts';
import { SampleReader } from '../../audio/pcm-bytes.ts';
import { type SpeechChunk, SpeechError } from '../../speech.ts';
import { refusal } from './vendor-status.ts';

/** Longest wait for the first byte, and between bytes, ms. */
const STALL_MS = 5_000;
/** Read of a refusal. */
const MAX_REFUSAL_CHARS = 16_384;

/** A shared instance: a stack trace would be the most expensive part of aborting a piece. */
const LEFT = new Error('the speech is no longer wanted');

/** A chunk without its rate. */
export type SpeechPiece = Pick<SpeechChunk, 'samples' | 'words'>;

/** One synthesis. */
export interface HttpSpeech {
  /** The vendor's name, for messages. */
  readonly vendor: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Rate of the answer, Hz. */
  readonly rateHz: number;
  /** Finds the speech in the bytes of the answer; absent: it is mono 16-bit little-endian samples. */
  readonly readPieces?: (body: AsyncIterable<Uint8Array>) => AsyncIterable<SpeechPiece>;
  /** The error for an answer without success, from its status and the beginning of its body. */
  readonly refusalOf?: (status: number, body: string) => SpeechError;
}

/** Speaks; throws `SpeechError`, or the signal's reason as soon as it is aborted. */
export async function* speakOverHttp(
  speech: HttpSpeech,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<SpeechChunk> {
  const { vendor, url, headers, body, rateHz, readPieces = rawPieces } = speech;
  const stalled = new AbortController();
  const arm = () =>
    clock.after(STALL_MS, () =>
      stalled.abort(new SpeechError('stalled', `${vendor} sent no audio for ${STALL_MS} ms`)),
    );
  let timer = arm();
  /** A pause of its reader is none of the vendor. */
  async function* watched(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of bytes) {
      timer.cancel();
      yield piece;
      timer = arm();
    }
    timer.cancel();
  }
  try {
    // Not `fetch`: its streams and objects cost twice as much as everything else, and this runs for every
    // piece of every reply.
    const response = await request(url, {
      method: 'POST',
      body,
      headers: { ...headers },
      signal: AbortSignal.any([signal, stalled.signal]),
    });
    if (response.statusCode >= 300) throw await refusalOf(speech, response);
    for await (const piece of readPieces(watched(response.body))) {
      if (piece.samples.length > 0) yield { ...piece, sampleRateHz: rateHz };
      // Pieces that have arrived already must not be played after an interruption.
      signal.throwIfAborted();
    }
  } catch (error) {
    throw failureOf(vendor, error, { caller: signal, stalled: stalled.signal });
  } finally {
    timer.cancel();
    stalled.abort(LEFT);
  }
}

async function* rawPieces(body: AsyncIterable<Uint8Array>): AsyncGenerator<SpeechPiece> {
  const reader = new SampleReader();
  for await (const bytes of body) yield { samples: reader.read(bytes), words: null };
}

async function refusalOf(
  { vendor, refusalOf: explain }: HttpSpeech,
  { statusCode, body }: Awaited<ReturnType<typeof request>>,
): Promise<SpeechError> {
  if (!explain) {
    body.dump().catch(() => undefined);
    return refusal(statusCode, `${vendor} answered HTTP ${statusCode}`);
  }
  let text = '';
  for await (const piece of body) {
    text += String(piece);
    if (text.length > MAX_REFUSAL_CHARS) break;
  }
  return explain(statusCode, text);
}

function failureOf(
  vendor: string,
  error: unknown,
  { caller, stalled }: { readonly caller: AbortSignal; readonly stalled: AbortSignal },
): unknown {
  if (caller.aborted) return caller.reason;
  if (stalled.aborted) return stalled.reason;
  return error instanceof SpeechError
    ? error
    : new SpeechError('connectivity', `${vendor} could not be reached, or the connection broke`, {
        cause: error,
      });
}
