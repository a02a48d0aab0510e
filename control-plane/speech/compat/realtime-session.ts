/**
 * One socket of the realtime protocol, for speech only: a response speaks the collected messages verbatim;
 * committed audio is transcribed. There is no turn detection: the client commits the audio.
 */
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { type Context, newId } from '../../platform/context.ts';
import { invalidFrom } from '../../platform/http/problems.ts';
import type { SynthesisModel } from '../requests/speech-models.ts';
import { compatFault } from './compat-errors.ts';
import { readJson, type Seat, sendJson } from './compat-sockets.ts';
import { generalRequest, voiceId } from './general-speech.ts';
import { languageCode } from './general-transcription.ts';
import { AudioBuffer, hearCommit } from './heard-commit.ts';
import { errorFields, ProtocolError } from './realtime-error.ts';
import {
  CLIENT_EVENTS,
  type ClientEvent,
  type ConversationItem,
  clientEvent,
  type RealtimeEvent,
  rateOf,
  type SessionPatch,
  textOf,
} from './realtime-events.ts';
import { speakResponse } from './realtime-response.ts';

/** Dependencies of a session. */
export interface RealtimeDeps {
  readonly context: Context;
  readonly seat: Seat;
  readonly kind: 'realtime' | 'transcription';
  /** The model as named by the client. */
  readonly modelName: string;
  readonly model: SynthesisModel;
}

/** Serves the socket until it closes. */
export function serveRealtime(deps: RealtimeDeps): void {
  const session = new RealtimeSession(deps);
  deps.seat.socket.on('message', (data: Buffer, isBinary) => session.received(data, isBinary));
}

class RealtimeSession {
  readonly #deps: RealtimeDeps;
  readonly #id = `sess_${newId()}`;
  readonly #items = new Map<string, ConversationItem>();
  /** Messages that no response has spoken yet. */
  readonly #unspoken = new Set<string>();
  readonly #input = new AudioBuffer();
  #settings: Settings = {
    inputRateHz: 24_000,
    outputRateHz: 24_000,
    voice: null,
    speed: null,
    language: null,
  };
  #response: { readonly id: string; readonly abort: AbortController } | null = null;
  /** Commits are recognised one after the other. */
  #heard: Promise<void> = Promise.resolve();
  #unheardItems = 0;
  #unheardBytes = 0;
  #lastItemId: string | null = null;

  constructor(deps: RealtimeDeps) {
    this.#deps = deps;
    this.#send({ type: 'session.created', session: this.#shown() });
  }

  received(data: Buffer, isBinary: boolean): void {
    let eventId: unknown = null;
    try {
      if (isBinary) throw fault('bad_request', { detail: 'Events are JSON in text messages' });
      const sent = readJson(data);
      eventId = sent['event_id'];
      if (!CLIENT_EVENTS.some((name) => name === sent['type']))
        throw new ProtocolError('unknown_event_type', 'Unknown event type');
      const parsed = clientEvent.safeParse(sent);
      if (!parsed.success) throw invalidFrom(parsed.error, 'body');
      this.#take(parsed.data);
    } catch (error) {
      this.#refuse(error, typeof eventId === 'string' ? eventId : null);
    }
  }

  #take(event: ClientEvent): void {
    switch (event.type) {
      case 'session.update':
      case 'transcription_session.update':
        this.#update(event.session);
        this.#send({ type: 'session.updated', session: this.#shown() });
        return;
      case 'conversation.item.create':
        this.#add(event.item);
        return;
      case 'conversation.item.delete':
        if (!this.#items.delete(event.item_id))
          throw new ProtocolError('item_not_found', 'There is no item with this id');
        this.#unspoken.delete(event.item_id);
        this.#send({ type: 'conversation.item.deleted', item_id: event.item_id });
        return;
      case 'conversation.item.truncate': {
        // No effect, because spoken text is not stored.
        const { item_id, content_index, audio_end_ms } = event;
        this.#send({ type: 'conversation.item.truncated', item_id, content_index, audio_end_ms });
        return;
      }
      case 'input_audio_buffer.append':
        if (this.#unheardBytes + this.#input.bytes >= LIMITS.compatAudioBytes) throw fault('too_large');
        this.#input.append(event.audio);
        return;
      case 'input_audio_buffer.clear':
        this.#input.clear();
        this.#send({ type: 'input_audio_buffer.cleared' });
        return;
      case 'input_audio_buffer.commit':
        this.#commit();
        return;
      case 'response.create':
        this.#respond(event.response?.input ?? null);
        return;
      case 'response.cancel':
        if (!this.#response)
          throw new ProtocolError('response_cancel_not_active', 'No response is in progress');
        this.#response.abort.abort(new Error('cancelled'));
    }
  }

  #update(patch: SessionPatch): void {
    const { audio, turn_detection, input_audio_transcription } = patch;
    const detection = audio?.input?.turn_detection ?? turn_detection;
    if (detection?.type)
      throw new ProtocolError(
        'unsupported_turn_detection',
        'Turn detection is not supported: send turn_detection null and commit',
      );
    const language = (audio?.input?.transcription ?? input_audio_transcription)?.language;
    const next: Settings = {
      inputRateHz: audio?.input?.format ? rateOf(audio.input.format) : this.#settings.inputRateHz,
      outputRateHz: audio?.output?.format ? rateOf(audio.output.format) : this.#settings.outputRateHz,
      voice: voiceId(audio?.output?.voice) ?? this.#settings.voice,
      speed: audio?.output?.speed ?? this.#settings.speed,
      language: language === undefined ? this.#settings.language : languageCode(language),
    };
    synthesisOf('.', next);
    this.#settings = next;
  }

  #add(item: ConversationItem): void {
    if (this.#items.size + this.#unheardItems >= LIMITS.compatPendingItems)
      throw new ProtocolError(
        'too_many_items',
        `A session can contain ${LIMITS.compatPendingItems} items: delete some, or let a response speak them`,
      );
    if (Buffer.byteLength(textOf(item)) > LIMITS.compatItemBytes) throw fault('too_large');
    const id = item.id ?? `item_${newId()}`;
    if (this.#items.has(id)) throw new ProtocolError('item_exists', 'There is already an item with this id');
    this.#items.set(id, { ...item, id });
    if (item.role !== 'system') this.#unspoken.add(id);
    this.#announce({ ...item, id, object: 'realtime.item', status: 'completed' });
  }

  /** Reports a complete item added to the conversation. */
  #announce(item: { readonly id: string; readonly [field: string]: unknown }): void {
    const previous_item_id = this.#lastItemId;
    this.#lastItemId = item.id;
    this.#send({ type: 'conversation.item.added', previous_item_id, item });
    this.#send({ type: 'conversation.item.done', previous_item_id, item });
  }

  #commit(): void {
    if (this.#input.bytes === 0)
      throw new ProtocolError('input_audio_buffer_commit_empty', 'The audio buffer is empty');
    if (this.#items.size + this.#unheardItems >= LIMITS.compatPendingItems)
      throw new ProtocolError(
        'too_many_items',
        `${LIMITS.compatPendingItems} items are waiting: commit more slowly`,
      );
    const pcm = this.#input.take();
    const item_id = `item_${newId()}`;
    this.#unheardItems++;
    this.#unheardBytes += pcm.length;
    this.#send({ type: 'input_audio_buffer.committed', previous_item_id: this.#lastItemId, item_id });
    this.#announce({
      id: item_id,
      object: 'realtime.item',
      type: 'message',
      role: 'user',
      status: 'completed',
      content: [{ type: 'input_audio', transcript: null }],
    });
    const asked = { pcm, rateHz: this.#settings.inputRateHz, language: this.#settings.language };
    const place = { item_id, content_index: 0 };
    this.#heard = this.#heard.then(async () => {
      try {
        const { text, durationSeconds } = await hearCommit(this.#deps.context, this.#deps.seat, asked);
        if (text !== '')
          this.#send({ type: 'conversation.item.input_audio_transcription.delta', ...place, delta: text });
        const usage = { type: 'duration', seconds: durationSeconds };
        this.#send({
          type: 'conversation.item.input_audio_transcription.completed',
          ...place,
          transcript: text,
          usage,
        });
      } catch (error) {
        this.#send({
          type: 'conversation.item.input_audio_transcription.failed',
          ...place,
          error: errorFields(error),
        });
      } finally {
        this.#unheardItems--;
        this.#unheardBytes -= pcm.length;
      }
    });
  }

  #respond(input: readonly ConversationItem[] | null): void {
    if (this.#deps.kind === 'transcription')
      throw new ProtocolError('unsupported_event', 'A transcription session makes no responses');
    if (this.#response)
      throw new ProtocolError(
        'response_already_active',
        'A response is in progress: cancel it, or wait for response.done',
      );
    const items = input ?? [...this.#unspoken].flatMap((id) => this.#items.get(id) ?? []);
    const text = items.map(textOf).join('\n');
    if (text.trim() === '')
      throw new ProtocolError('nothing_to_say', 'No message is waiting to be spoken: create an item first');
    const request = synthesisOf(text, this.#settings);
    // Spoken items are dropped, so that a session can last its hour.
    if (input === null) {
      for (const id of this.#unspoken) this.#items.delete(id);
      this.#unspoken.clear();
    }
    const abort = new AbortController();
    const response = { id: `resp_${newId()}`, abort };
    this.#response = response;
    const { context, seat, model } = this.#deps;
    const signal = AbortSignal.any([abort.signal, seat.closed]);
    const previousItemId = this.#lastItemId;
    const itemId = `item_${newId()}`;
    this.#lastItemId = itemId;
    const deps = {
      context,
      seat,
      signal,
      model,
      send: (event: RealtimeEvent) => this.#send(event),
      over: () => (this.#response = null),
    };
    void speakResponse(deps, { id: response.id, itemId, previousItemId, text, request });
  }

  #shown() {
    const { kind, modelName } = this.#deps;
    const { inputRateHz, outputRateHz, voice, speed, language } = this.#settings;
    const input = {
      format: { type: 'audio/pcm', rate: inputRateHz },
      transcription: { model: 'parley/transcribe-1', language },
      turn_detection: null,
    };
    if (kind === 'transcription')
      return { id: this.#id, object: 'realtime.transcription_session', type: kind, audio: { input } };
    const output = {
      format: { type: 'audio/pcm', rate: outputRateHz },
      voice: voice ?? 'default',
      speed: speed ?? 1,
    };
    return {
      id: this.#id,
      object: 'realtime.session',
      type: kind,
      model: modelName,
      output_modalities: ['audio'],
      audio: { input, output },
    };
  }

  #refuse(error: unknown, eventId: string | null): void {
    if (!(error instanceof ProtocolError) && compatFault(error).status === 500)
      this.#deps.context.logger.error({ err: error }, 'realtime event failed');
    this.#send({ type: 'error', error: { ...errorFields(error), param: null, event_id: eventId } });
  }

  #send(event: RealtimeEvent): void {
    sendJson(this.#deps.seat, { event_id: `event_${newId()}`, ...event });
  }
}

/** Settings of a session. */
interface Settings {
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  readonly voice: string | null;
  readonly speed: number | null;
  readonly language: string | null;
}

/** Options of a synthesis with these settings. Throws `InvalidRequest` for an unsupported rate. */
function synthesisOf(text: string, { outputRateHz, voice, speed }: Settings) {
  return generalRequest(
    { text, voice, format: 'pcm16', speed },
    { headers: {}, body: { sample_rate: outputRateHz } },
  );
}
