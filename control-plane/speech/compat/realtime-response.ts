/**
 * A spoken response of a realtime session: its events in the protocol's order, with the audio as it is
 * synthesised.
 */
import type { Context } from '../../platform/context.ts';
import { newId } from '../../platform/context.ts';
import type { SynthesisModel } from '../requests/speech-models.ts';
import { synthesise } from '../requests/speech-service.ts';
import { Script, speakOptions, type TtsRequest } from '../requests/tts-request.ts';
import { languageOf, resolveVoices } from '../voices/resolve-voice.ts';
import { roomFor, type Seat } from './compat-sockets.ts';
import { errorFields } from './realtime-error.ts';
import type { RealtimeEvent } from './realtime-events.ts';

/** Dependencies of a response. */
export interface ResponseDeps {
  readonly context: Context;
  readonly seat: Seat;
  /** Aborted by a cancel, or when the socket closes. */
  readonly signal: AbortSignal;
  readonly model: SynthesisModel;
  send(event: RealtimeEvent): void;
  /** Called before `response.done` is sent: the next response may begin. */
  over(): void;
}

/** The text and the ids of its events. */
export interface ResponseRequest {
  readonly id: string;
  readonly itemId: string;
  readonly previousItemId: string | null;
  readonly text: string;
  readonly request: TtsRequest;
}

/** Speaks the response. Never throws: `response.done` contains the outcome. */
export async function speakResponse(deps: ResponseDeps, asked: ResponseRequest): Promise<void> {
  const { send, signal } = deps;
  const { id, itemId, previousItemId, text } = asked;
  const inItem = { response_id: id, item_id: itemId, output_index: 0, content_index: 0 };
  const item = (status: string, content: readonly object[]) => ({
    id: itemId,
    object: 'realtime.item',
    type: 'message',
    role: 'assistant',
    status,
    content,
  });
  const part = { type: 'output_audio', transcript: text };
  const response = (status: string, status_details: object | null, output: readonly object[]) => ({
    id,
    object: 'realtime.response',
    status,
    status_details,
    output,
    output_modalities: ['audio'],
    usage: status === 'in_progress' ? null : { total_tokens: 0, input_tokens: 0, output_tokens: 0 },
  });
  send({ type: 'response.created', response: response('in_progress', null, []) });
  send({
    type: 'response.output_item.added',
    response_id: id,
    output_index: 0,
    item: item('in_progress', []),
  });
  send({ type: 'conversation.item.added', previous_item_id: previousItemId, item: item('in_progress', []) });
  send({ type: 'response.content_part.added', ...inItem, part: { type: 'audio', transcript: '' } });
  send({ type: 'response.output_audio_transcript.delta', ...inItem, delta: text });
  let failure: unknown = null;
  try {
    await speakAudio(deps, asked, (audio) =>
      send({ type: 'response.output_audio.delta', ...inItem, delta: audio.toString('base64') }),
    );
  } catch (error) {
    failure = error;
  }
  const status = failure === null ? 'completed' : signal.aborted ? 'cancelled' : 'failed';
  const whole = item(status === 'completed' ? 'completed' : 'incomplete', [part]);
  send({ type: 'response.output_audio.done', ...inItem });
  send({ type: 'response.output_audio_transcript.done', ...inItem, transcript: text });
  send({ type: 'response.content_part.done', ...inItem, part: { type: 'audio', transcript: text } });
  send({ type: 'response.output_item.done', response_id: id, output_index: 0, item: whole });
  send({ type: 'conversation.item.done', previous_item_id: previousItemId, item: whole });
  const details = {
    completed: null,
    cancelled: { type: 'cancelled', reason: 'client_cancelled' },
    failed: { type: 'failed', error: errorFields(failure) },
  }[status];
  deps.over();
  send({ type: 'response.done', response: response(status, details, [whole]) });
}

async function speakAudio(
  { context, seat, signal, model }: ResponseDeps,
  { text, request }: ResponseRequest,
  send: (audio: Buffer) => void,
): Promise<void> {
  const voices = await resolveVoices(context, seat.caller, request.reference_id);
  const options = speakOptions(request, languageOf(context, voices[0] ?? null));
  const segments = await new Script(voices, request.pronunciation_dictionary).pronounced(text);
  const pieces = synthesise(
    context,
    { caller: seat.caller, requestId: newId(), model, slot: seat.slot },
    { options, segments },
    signal,
  );
  for await (const { bytes } of pieces) {
    if (bytes.length > 0) send(Buffer.from(bytes));
    await roomFor(context, seat);
  }
}
