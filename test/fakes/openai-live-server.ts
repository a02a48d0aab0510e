/**
 * A stand-in for OpenAI's live transcription (`WS /v1/realtime?intent=transcription`). The client must
 * configure a transcription session of 24 kHz PCM without turn detection before it sends audio. Words are
 * sent as deltas during speech; a commit is acknowledged, then completed. Like the vendor, it refuses too
 * little audio.
 */
import { Ear } from './ear.ts';
import { startVendorServer, type VendorServer } from './vendor-sockets.ts';

/** Behaviour of the stand-in. */
export interface OpenaiLiveServerOptions {
  /** Transcripts in order. Default: `hello`. */
  readonly lines?: readonly string[];
  readonly apiKey?: string;
}

/** The running stand-in; its `url` lacks the `/v1`. */
export interface OpenaiLiveServer extends VendorServer {
  /** Commits are acknowledged and completed in pairs, the later one first. */
  settlesBackwards: boolean;
  /** Commits are acknowledged but never completed. */
  isEndless: boolean;
  /** Sends an `error` event with this error. */
  complain(error: { readonly type: string; readonly code: string | null; readonly message: string }): void;
}

const RATE_HZ = 24_000;
const LEAST_COMMIT_MS = 100;
const COMPLETED = 'conversation.item.input_audio_transcription.completed';

/** Starts the stand-in. */
export async function startOpenaiLiveServer({
  lines = ['hello'],
  apiKey,
}: OpenaiLiveServerOptions = {}): Promise<OpenaiLiveServer> {
  const state = { settlesBackwards: false, isEndless: false };
  const server = await startVendorServer({
    mayEnter: (headers) => apiKey === undefined || headers.authorization === `Bearer ${apiKey}`,
    accept(connection) {
      if (connection.path !== '/v1/realtime' || connection.query.get('intent') !== 'transcription')
        return null;
      const ear = new Ear(RATE_HZ, 400);
      let item = 0;
      let events = 0;
      let line = 0;
      let bufferedMs = 0;
      let isReady = false;
      const held: (() => void)[] = [];
      const say = (event: object) => connection.say({ event_id: `event_${++events}`, ...event });
      const refuse = (code: string, message: string) =>
        say({ type: 'error', error: { type: 'invalid_request_error', code, message, param: null } });
      say({ type: 'session.created', session: { type: 'transcription', id: 'sess_1' } });

      const commit = () => {
        if (bufferedMs < LEAST_COMMIT_MS)
          return refuse(
            'input_audio_buffer_commit_empty',
            `Error committing input audio buffer: buffer only has ${bufferedMs} ms of audio.`,
          );
        const item_id = `item_${item}`;
        say({
          type: 'input_audio_buffer.committed',
          item_id,
          previous_item_id: item === 0 ? null : `item_${item - 1}`,
        });
        const transcript = ear.hasSpeech ? (lines[line++ % lines.length] ?? '') : '';
        item++;
        bufferedMs = 0;
        ear.reset();
        settle(() =>
          say({
            type: COMPLETED,
            item_id,
            content_index: 0,
            transcript,
            usage: { type: 'duration', seconds: 1 },
          }),
        );
      };

      const settle = (tell: () => void) => {
        held.push(tell);
        const isDue = !state.isEndless && (!state.settlesBackwards || held.length === 2);
        if (isDue) for (const due of held.splice(0).reverse()) due();
      };

      const takeAudio = (audio: Buffer) => {
        bufferedMs += audio.length / 2 / (RATE_HZ / 1_000);
        if (ear.hear(audio) !== 'speaking') return;
        const word = (lines[line % lines.length] ?? '').split(' ')[Math.floor(ear.voicedMs / 333)];
        if (word)
          say({
            type: 'conversation.item.input_audio_transcription.delta',
            item_id: `item_${item}`,
            content_index: 0,
            delta: `${word} `,
          });
      };

      return {
        onJson(message) {
          if (message['type'] === 'session.update') {
            isReady = isTranscription(message['session']);
            if (isReady) say({ type: 'session.updated', session: message['session'] });
            else refuse('invalid_value', 'The session must be a transcription of 24 kHz PCM');
          } else if (!isReady) refuse('invalid_value', 'The session is not set up');
          else if (message['type'] === 'input_audio_buffer.append')
            takeAudio(Buffer.from(String(message['audio']), 'base64'));
          else if (message['type'] === 'input_audio_buffer.commit') commit();
          else refuse('unknown_event', String(message['type']));
        },
      };
    },
  });
  return Object.defineProperties(server as OpenaiLiveServer, {
    settlesBackwards: {
      get: () => state.settlesBackwards,
      set: (value) => Object.assign(state, { settlesBackwards: value }),
    },
    isEndless: { get: () => state.isEndless, set: (value) => Object.assign(state, { isEndless: value }) },
    complain: {
      value: (error: object) => {
        for (const connection of server.connections)
          connection.say({ type: 'error', event_id: 'event_0', error });
      },
    },
  });
}

function isTranscription(session: unknown): boolean {
  const { type, audio } = session as {
    type?: string;
    audio?: { input?: { format?: object; turn_detection?: unknown; transcription?: { model?: string } } };
  };
  const format = JSON.stringify(audio?.input?.format);
  return (
    type === 'transcription' &&
    format === JSON.stringify({ type: 'audio/pcm', rate: RATE_HZ }) &&
    audio?.input?.turn_detection === null &&
    typeof audio.input.transcription?.model === 'string'
  );
}
