/**
 * `WS /v1/text-to-speech/{voice_id}/stream-input` of the voice vendor's protocol: streamed text in, streamed
 * audio out.
 */
import { z } from 'zod';
import { Fault, fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { Segment } from '#media/speech/pool/speech-jobs.ts';
import { type Context, newId } from '../../platform/context.ts';
import { invalidFrom } from '../../platform/http/problems.ts';
import { LiveText } from '../requests/live-text.ts';
import type { SynthesisModel } from '../requests/speech-models.ts';
import { synthesise } from '../requests/speech-service.ts';
import { TextQueue } from '../requests/text-queue.ts';
import { Script, speakOptions, type TtsRequest } from '../requests/tts-request.ts';
import { languageOf } from '../voices/resolve-voice.ts';
import { CharacterTimes, inMilliseconds } from './character-times.ts';
import { compatFault, voiceVendorError } from './compat-errors.ts';
import { readJson, roomFor, type Seat, sendJson } from './compat-sockets.ts';
import { vendorRequest, voiceSettings } from './vendor-speech.ts';

const message = z.looseObject({
  text: z.string().max(LIMITS.spokenChars),
  voice_settings: voiceSettings,
  flush: z.boolean().nullish(),
  try_trigger_generation: z.boolean().nullish(),
});

/** Options in the URL. */
export interface VendorInputParameters {
  readonly voiceId: string;
  /** The voice of the engine with that id. */
  readonly voice: string | null;
  readonly format: string;
  readonly model: SynthesisModel;
  readonly language: string | null;
  readonly withAlignment: boolean;
}

/** Serves the socket until the text ends. */
export function serveVendorInput(context: Context, seat: Seat, asked: VendorInputParameters): void {
  const input = new VendorInput(context, seat, asked);
  seat.socket.on('message', (data: Buffer) => input.received(data));
}

class VendorInput {
  readonly #context: Context;
  readonly #seat: Seat;
  readonly #asked: VendorInputParameters;
  readonly #segments = new TextQueue<Segment>();
  #text: LiveText | null = null;
  #script: Script | null = null;
  #isOver = false;

  constructor(context: Context, seat: Seat, asked: VendorInputParameters) {
    this.#context = context;
    this.#seat = seat;
    this.#asked = asked;
  }

  received(data: Buffer): void {
    if (this.#isOver) return;
    try {
      const parsed = message.safeParse(readJson(data));
      if (!parsed.success) throw invalidFrom(parsed.error, 'body');
      this.#take(parsed.data);
    } catch (error) {
      this.#fail(error);
    }
  }

  #take({ text, voice_settings, flush, try_trigger_generation }: z.output<typeof message>): void {
    if (Buffer.byteLength(text) > LIMITS.compatItemBytes) throw fault('too_large');
    if (!this.#text) this.#start(voice_settings);
    if (text === '') {
      this.#say(this.#text?.flush() ?? null);
      this.#segments.end();
      this.#isOver = true;
      return;
    }
    this.#say(this.#text?.add(text) ?? null);
    if (flush || try_trigger_generation) this.#say(this.#text?.flush() ?? null);
  }

  /** The first message sets the options of the whole stream. */
  #start(settings: z.output<typeof voiceSettings>): void {
    const { voiceId, format, voice, language } = this.#asked;
    const request = vendorRequest({ text: '.', voiceId, format, settings }, { headers: {}, body: {} });
    this.#text = new LiveText({ least: request.min_chunk_length, most: request.chunk_length });
    this.#script = new Script([voice], null);
    void this.#speak(request, language ?? languageOf(this.#context, voice));
  }

  #say(text: string | null): void {
    if (text === null) return;
    if (this.#segments.length >= LIMITS.compatPendingItems)
      throw fault('bad_request', { detail: 'Too much text is waiting to be spoken: send it more slowly' });
    for (const segment of this.#script?.segments(text) ?? []) this.#segments.add(segment);
  }

  async #speak(request: TtsRequest, language: string): Promise<void> {
    const { caller, slot, closed } = this.#seat;
    const asked = { caller, slot, requestId: newId(), model: this.#asked.model };
    const times = new CharacterTimes();
    try {
      for await (const piece of synthesise(
        this.#context,
        asked,
        { options: speakOptions(request, language), segments: this.#segments },
        closed,
      )) {
        const alignment = this.#asked.withAlignment ? inMilliseconds(times.take(piece)) : null;
        const aligned = this.#asked.withAlignment ? { alignment, normalizedAlignment: alignment } : {};
        if (piece.bytes.length > 0)
          sendJson(this.#seat, {
            audio: Buffer.from(piece.bytes).toString('base64'),
            isFinal: null,
            ...aligned,
          });
        await roomFor(this.#context, this.#seat);
      }
      sendJson(this.#seat, { audio: null, isFinal: true });
      this.#seat.socket.close(1000);
    } catch (error) {
      if (!closed.aborted) this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#isOver = true;
    this.#segments.end();
    const problem = compatFault(error);
    if (!(error instanceof Fault) && problem.status === 500)
      this.#context.logger.error({ err: error }, 'stream input failed');
    const { status, message } = voiceVendorError(problem).detail;
    sendJson(this.#seat, { message, error: status, code: 1008 });
    this.#seat.socket.close(1008, status);
  }
}
