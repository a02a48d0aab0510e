/**
 * Raw audio that a client sends over a socket and then commits: collected up to a limit and recognised as one
 * recording.
 */
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { wavHeader } from '#media/speech/audio/wav.ts';
import type { Transcript } from '#media/speech/pool/speech-jobs.ts';
import { type Context, newId } from '../../platform/context.ts';
import { recognise } from '../requests/speech-service.ts';
import type { Seat } from './compat-sockets.ts';

/** Audio received so far. */
export class AudioBuffer {
  readonly #parts: Buffer[] = [];
  #size = 0;

  get bytes(): number {
    return this.#size;
  }

  /** Adds base64 audio. Throws `bad_request` if it is invalid, `too_large` above the limit. */
  append(base64: string): void {
    const part = Buffer.from(base64, 'base64');
    if (part.length === 0 && base64 !== '') throw fault('bad_request', { detail: 'The audio is not base64' });
    if (this.#size + part.length > LIMITS.compatAudioBytes) throw fault('too_large');
    this.#parts.push(part);
    this.#size += part.length;
  }

  /** Returns all audio so far and empties the buffer. */
  take(): Buffer {
    const all = Buffer.concat(this.#parts);
    this.clear();
    return all;
  }

  clear(): void {
    this.#parts.length = 0;
    this.#size = 0;
  }
}

/**
 * Recognises 16-bit little-endian mono audio. The socket already occupies a place of the account; the pool
 * needs a free place as well. Throws `speech_busy` and what `recognise` throws.
 */
export async function hearCommit(
  context: Context,
  { caller, closed }: Pick<Seat, 'caller' | 'closed'>,
  { pcm, rateHz, language }: { pcm: Buffer; rateHz: number; language: string | null },
): Promise<Transcript> {
  const slot = context.speech.take('recognition', caller.userId);
  if (!slot) throw fault('speech_busy', { limit: 'the', of: 'server' });
  try {
    const options = {
      language,
      longestSeconds: LIMITS.transcribeMinutes * 60,
      shortestSeconds: LIMITS.transcribeSeconds,
    };
    const audio = new Uint8Array(Buffer.concat([wavHeader(rateHz, pcm.length), pcm]));
    return await recognise(context, { caller, requestId: newId(), slot }, { audio, options, signal: closed });
  } finally {
    slot.release();
  }
}
