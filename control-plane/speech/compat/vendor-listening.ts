/**
 * `WS /v1/speech-to-text/realtime` of the voice vendor's protocol: audio in chunks, committed by the client,
 * and its text back.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { type Context, newId } from '../../platform/context.ts';
import { invalidFrom } from '../../platform/http/problems.ts';
import { compatFault } from './compat-errors.ts';
import { readJson, type Seat, sendJson } from './compat-sockets.ts';
import { languageCode } from './general-transcription.ts';
import { AudioBuffer, hearCommit } from './heard-commit.ts';
import { vendorWords } from './vendor-transcription.ts';

const message = z.looseObject({
  message_type: z.literal('input_audio_chunk'),
  audio_base_64: z.string(),
  commit: z.boolean().default(false),
});

/** Options in the URL. */
export interface ListeningParameters {
  readonly modelId: string;
  readonly rateHz: number;
  /** As sent. */
  readonly language: string | null;
  readonly withTimestamps: boolean;
}

/** Serves the socket until it closes. */
export function serveVendorListening(context: Context, seat: Seat, asked: ListeningParameters): void {
  const { modelId, rateHz, language, withTimestamps } = asked;
  const buffer = new AudioBuffer();
  let heard: Promise<void> = Promise.resolve();
  let [unheard, unheardBytes] = [0, 0];
  const sendError = (error: unknown) => {
    const problem = compatFault(error);
    if (problem.status === 500) context.logger.error({ err: error }, 'realtime transcription failed');
    const message_type =
      problem.status === 429 ? 'rate_limited' : problem.status >= 500 ? 'transcriber_error' : 'input_error';
    sendJson(seat, { message_type, error: problem.message });
  };
  const commit = () => {
    if (unheard >= LIMITS.compatPendingItems)
      throw fault('bad_request', { detail: 'Too many commits are waiting: send them more slowly' });
    const pcm = buffer.take();
    unheard++;
    unheardBytes += pcm.length;
    heard = heard.then(async () => {
      try {
        const transcript = await hearCommit(context, seat, { pcm, rateHz, language: languageCode(language) });
        sendJson(seat, { message_type: 'committed_transcript', text: transcript.text });
        if (!withTimestamps) return;
        const words = vendorWords(transcript);
        sendJson(seat, {
          message_type: 'committed_transcript_with_timestamps',
          text: transcript.text,
          language_code: language ?? '',
          words,
        });
      } catch (error) {
        if (!seat.closed.aborted) sendError(error);
      } finally {
        unheard--;
        unheardBytes -= pcm.length;
      }
    });
  };
  seat.socket.on('message', (data: Buffer) => {
    try {
      const parsed = message.safeParse(readJson(data));
      if (!parsed.success) throw invalidFrom(parsed.error, 'body');
      if (unheardBytes + buffer.bytes >= LIMITS.compatAudioBytes) throw fault('too_large');
      buffer.append(parsed.data.audio_base_64);
      if (parsed.data.commit) commit();
    } catch (error) {
      sendError(error);
    }
  });
  const config = {
    model_id: modelId,
    sample_rate: rateHz,
    audio_format: `pcm_${rateHz}`,
    commit_strategy: 'manual',
    language_code: language,
  };
  sendJson(seat, {
    message_type: 'session_started',
    session_id: newId(),
    config: { ...config, include_timestamps: withTimestamps },
  });
}
