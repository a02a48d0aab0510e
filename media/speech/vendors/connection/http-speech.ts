/** A synthesis by one POST whose answer is raw audio, passed on as it arrives. */
import type { Clock } from '#base/clock.ts';
import { request } from '#base/undici.ts';
import { SampleReader } from '../../audio/pcm-bytes.ts';
import { type SpeechChunk, SpeechError } from '../../speech.ts';
import { refusal } from './vendor-status.ts';

/** Longest wait for the first byte, and between bytes, ms. */
const STALL_MS = 5_000;

/** A shared instance: a stack trace would be the most expensive part of aborting a piece. */
const LEFT = new Error('the speech is no longer wanted');

/** One synthesis. */
export interface HttpSpeech {
  /** The vendor's name, for messages. */
  readonly vendor: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Of the answer: mono 16-bit little-endian samples, Hz. */
  readonly rateHz: number;
  /** What an operator should do when the vendor refuses the key; absent: nothing is said. */
  readonly keyAdvice?: string;
}

/** Speaks; throws `SpeechError`, or the signal's reason as soon as it is aborted. */
export async function* speakOverHttp(
  { vendor, url, headers, body, rateHz, keyAdvice }: HttpSpeech,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): AsyncGenerator<SpeechChunk> {
  const stalled = new AbortController();
  const arm = () =>
    clock.after(STALL_MS, () =>
      stalled.abort(new SpeechError('stalled', `${vendor} sent no audio for ${STALL_MS} ms`)),
    );
  let timer = arm();
  try {
    // Not `fetch`: its streams and objects cost twice as much as everything else, and this runs for every
    // piece of every reply.
    const response = await request(url, {
      method: 'POST',
      body,
      headers: { ...headers },
      signal: AbortSignal.any([signal, stalled.signal]),
    });
    if (response.statusCode >= 300) {
      response.body.dump().catch(() => undefined);
      throw refusal(response.statusCode, `${vendor} answered HTTP ${response.statusCode}`, keyAdvice);
    }
    const samples = new SampleReader();
    for await (const bytes of response.body as AsyncIterable<Uint8Array>) {
      timer.cancel();
      const read = samples.read(bytes);
      if (read.length > 0) yield { samples: read, sampleRateHz: rateHz, words: null };
      // What has arrived already must not be played after an interruption.
      signal.throwIfAborted();
      // A pause of the reader is none of the vendor.
      timer = arm();
    }
  } catch (error) {
    throw failureOf(vendor, error, { caller: signal, stalled: stalled.signal });
  } finally {
    timer.cancel();
    stalled.abort(LEFT);
  }
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
