/** Schemas of the messages that a client of the realtime WebSocket may send. */
import { z } from 'zod';
import { voiceField } from './general-speech.ts';

/** Supported event types; any other is `unknown_event_type`. */
export const CLIENT_EVENTS = [
  'session.update',
  'transcription_session.update',
  'conversation.item.create',
  'conversation.item.delete',
  'conversation.item.truncate',
  'input_audio_buffer.append',
  'input_audio_buffer.commit',
  'input_audio_buffer.clear',
  'response.create',
  'response.cancel',
] as const;

const rate = z.number().int().min(8_000).max(48_000);
const format = z.union([
  z.looseObject({ type: z.literal('audio/pcm'), rate: rate.optional() }),
  z.literal('pcm16'),
]);
const detection = z.looseObject({ type: z.string().nullish() }).nullish();
const transcription = z
  .looseObject({ model: z.string().nullish(), language: z.string().nullish() })
  .nullish();

/** The supported settings of a session; all others are ignored. */
export const sessionPatch = z.looseObject({
  type: z.enum(['realtime', 'transcription']).nullish(),
  output_modalities: z.array(z.enum(['text', 'audio'])).nullish(),
  audio: z
    .looseObject({
      input: z.looseObject({ format: format.nullish(), transcription, turn_detection: detection }).nullish(),
      output: z
        .looseObject({
          format: format.nullish(),
          voice: voiceField,
          speed: z.number().min(0.25).max(4).nullish(),
        })
        .nullish(),
    })
    .nullish(),
  // In the format of sessions before general availability.
  turn_detection: detection,
  input_audio_format: z.literal('pcm16').nullish(),
  input_audio_transcription: transcription,
});
export type SessionPatch = z.output<typeof sessionPatch>;

/** A message of a conversation. */
export const conversationItem = z.looseObject({
  id: z.string().min(1).max(64).nullish(),
  type: z.literal('message', 'only messages are spoken'),
  role: z.enum(['user', 'assistant', 'system']),
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })),
});
export type ConversationItem = z.output<typeof conversationItem>;

/** Client events by their type. */
export const clientEvent = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('session.update'), session: sessionPatch }),
  z.looseObject({ type: z.literal('transcription_session.update'), session: sessionPatch }),
  z.looseObject({
    type: z.literal('conversation.item.create'),
    item: conversationItem,
    previous_item_id: z.string().nullish(),
  }),
  z.looseObject({ type: z.literal('conversation.item.delete'), item_id: z.string() }),
  z.looseObject({
    type: z.literal('conversation.item.truncate'),
    item_id: z.string(),
    content_index: z.number().int().default(0),
    audio_end_ms: z.number().default(0),
  }),
  z.looseObject({ type: z.literal('input_audio_buffer.append'), audio: z.string() }),
  z.looseObject({ type: z.literal('input_audio_buffer.commit') }),
  z.looseObject({ type: z.literal('input_audio_buffer.clear') }),
  z.looseObject({
    type: z.literal('response.create'),
    response: z.looseObject({ input: z.array(conversationItem).nullish() }).nullish(),
  }),
  z.looseObject({ type: z.literal('response.cancel') }),
]);
export type ClientEvent = z.output<typeof clientEvent>;

/** Rate of a format, Hz; the vendor's default if none is named. */
export function rateOf(asked: z.output<typeof format> | null | undefined): number {
  return typeof asked === 'object' ? (asked?.rate ?? 24_000) : 24_000;
}

/** Text of a message. */
export function textOf(item: ConversationItem): string {
  return item.content.map(({ text }) => text ?? '').join(' ');
}

/** An event to the client, without its id. */
export interface RealtimeEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}
