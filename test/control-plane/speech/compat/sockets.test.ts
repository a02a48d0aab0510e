import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { speak } from '#caller/spoken.ts';
import { LIMITS } from '#config/limits.ts';
import { type OpenaiServer, startOpenaiServer } from '../../../fakes/openai-server.ts';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';
import { JsonSocket, refusedUpgrade } from './compat-client.ts';

// Threads start and engines warm up, which takes time on a loaded machine.
vi.setConfig({ testTimeout: 180_000 });

const HEARD = 'A table for two, please.';
const SPOKEN = speak(HEARD, { rateHz: 16_000, afterMs: 200 });
const PCM = Buffer.from(SPOKEN.samples.buffer, SPOKEN.samples.byteOffset, SPOKEN.samples.byteLength).toString(
  'base64',
);
let vendor: OpenaiServer;
let api: TestApi;
let user: TestUser;
let base = '';
beforeAll(async () => {
  vendor = await startOpenaiServer({ transcripts: [HEARD] });
  api = await openTestApi({ ASR_PROVIDER: 'openai', OPENAI_BASE_URL: vendor.url });
  user = await api.createUser();
  await api.app.listen({ host: '127.0.0.1', port: 0 });
  base = `ws://127.0.0.1:${(api.app.server.address() as AddressInfo).port}/compat`;
});
afterAll(async () => {
  await api.close();
  await vendor.close();
});

const is = (type: string) => (message: { type?: string; message_type?: string }) =>
  message.type === type || message.message_type === type;

describe('realtime', () => {
  const open = (query = '?model=parley/s2.1-pro') =>
    JsonSocket.open(`${base}/v1/realtime${query}`, { authorization: `Bearer ${user.key}` });
  const item = (text: string, id?: string) => ({
    type: 'conversation.item.create',
    item: {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text }],
      ...(id === undefined ? {} : { id }),
    },
  });
  const errorOf = async (socket: JsonSocket, ...messages: object[]) => {
    socket.send(...messages);
    return (await socket.next(is('error'))).error.code;
  };

  it('speaks pending items once, in the protocol’s order', async () => {
    const socket = await open();
    socket.send(
      item('Good day.', 'a'),
      item('Never said.', 'b'),
      { type: 'conversation.item.delete', item_id: 'b' },
      { type: 'response.create' },
    );
    const types: string[] = [];
    for (;;) {
      const message = await socket.next(() => true);
      if (message.type.startsWith('response.') && message.type !== types.at(-1)) types.push(message.type);
      if (message.type !== 'response.done') continue;
      expect(message.response).toMatchObject({
        status: 'completed',
        output: [{ content: [{ transcript: 'Good day.' }] }],
      });
      break;
    }
    expect(types).toEqual([
      'response.created',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_audio_transcript.delta',
      'response.output_audio.delta',
      'response.output_audio.done',
      'response.output_audio_transcript.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.done',
    ]);
    expect(await errorOf(socket, { type: 'response.create' })).toBe('nothing_to_say');
    socket.socket.close();
  });

  it('runs one response at a time; a cancel ends it', async () => {
    const socket = await open();
    socket.send(item('A very long story. '.repeat(2_000)), { type: 'response.create' });
    await socket.next(is('response.output_audio.delta'));
    expect(await errorOf(socket, { type: 'response.create' })).toBe('response_already_active');
    socket.send({ type: 'response.cancel' });
    expect((await socket.next(is('response.done'))).response.status).toBe('cancelled');
    expect(await errorOf(socket, { type: 'response.cancel' })).toBe('response_cancel_not_active');
    socket.socket.close();
  });

  it('transcribes committed audio without a response, also in transcription sessions', async () => {
    const socket = await open('?intent=transcription');
    expect((await socket.next(is('session.created'))).session.type).toBe('transcription');
    const session = {
      type: 'transcription',
      audio: { input: { format: { type: 'audio/pcm', rate: 16_000 }, turn_detection: null } },
    };
    socket.send(
      { type: 'session.update', session },
      { type: 'input_audio_buffer.append', audio: PCM },
      { type: 'input_audio_buffer.commit' },
    );
    const { transcript } = await socket.next(is('conversation.item.input_audio_transcription.completed'));
    expect(transcript).toBe(HEARD);
    expect(await errorOf(socket, { type: 'input_audio_buffer.commit' })).toBe(
      'input_audio_buffer_commit_empty',
    );
    expect(await errorOf(socket, { type: 'response.create' })).toBe('unsupported_event');
    socket.send({ type: 'input_audio_buffer.append', audio: 'AAAA' }, { type: 'input_audio_buffer.commit' });
    expect(
      (await socket.next(is('conversation.item.input_audio_transcription.failed'))).error.message,
    ).toContain('shorter');
    socket.socket.close();
  });

  it('reports misuse and keeps the session open', async () => {
    const socket = await open(`?model=tts-1&api_key=${user.key}`);
    expect(await errorOf(socket, { type: 'sing', event_id: 'e1' })).toBe('unknown_event_type');
    for (const type of ['server_vad', 'semantic_vad'])
      expect(
        await errorOf(socket, {
          type: 'session.update',
          session: { audio: { input: { turn_detection: { type } } } },
        }),
      ).toBe('unsupported_turn_detection');
    expect(
      await errorOf(socket, {
        type: 'session.update',
        session: { audio: { output: { format: { type: 'audio/pcmu' } } } },
      }),
    ).toBe('bad_request');
    expect(
      await errorOf(socket, {
        type: 'session.update',
        session: { audio: { output: { format: { type: 'audio/pcm', rate: 9_000 } } } },
      }),
    ).toBe('bad_request');
    expect(await errorOf(socket, { type: 'conversation.item.delete', item_id: 'nope' })).toBe(
      'item_not_found',
    );
    expect(await errorOf(socket, item('a'.repeat(LIMITS.compatItemBytes + 1)))).toBe('too_large');
    expect(await errorOf(socket, { type: 'input_audio_buffer.append', audio: '!!' })).toBe('bad_request');
    socket.socket.send('{');
    expect((await socket.next(is('error'))).error.code).toBe('malformed_json');
    socket.send({ type: 'conversation.item.truncate', item_id: 'x', content_index: 0, audio_end_ms: 5 });
    await socket.next(is('conversation.item.truncated'));
    socket.socket.close();
  });

  it('accepts at most 1024 pending items', async () => {
    const socket = await open();
    for (let index = 0; index < LIMITS.compatPendingItems; index++) socket.send(item('a'));
    expect(await errorOf(socket, item('a'))).toBe('too_many_items');
    socket.socket.close();
  });

  it('a frame beyond 32 MiB closes the socket', async () => {
    const socket = await open();
    const closed = socket.closed();
    socket.socket.on('error', () => {});
    socket.socket.send('a'.repeat(LIMITS.compatFrameBytes + 1));
    expect([1006, 1009]).toContain(await closed);
  });

  it('refuses unknown models, bad keys and excess sockets before upgrading; a close frees a place', async () => {
    const refused = (query: string, key: string) =>
      refusedUpgrade(`${base}/v1/realtime${query}`, { authorization: `Bearer ${key}` });
    expect(await refused('?model=gpt-9', user.key)).toMatchObject({
      status: 400,
      body: { error: { code: 400 } },
    });
    expect(await refused('', 'nope')).toMatchObject({
      status: 401,
      body: { error: { type: 'authentication_error' } },
    });
    const busy = await api.createUser();
    const sockets = await Promise.all(
      Array.from({ length: 5 }, () =>
        JsonSocket.open(`${base}/v1/realtime`, { authorization: `Bearer ${busy.key}` }),
      ),
    );
    expect(await refused('', busy.key)).toMatchObject({ status: 429, retryAfter: '1' });
    // One socket speaks without being read, and closes in the middle of it.
    sockets[0]?.send(item('A very long story. '.repeat(2_000)), { type: 'response.create' });
    await sockets[0]?.next(is('response.output_audio.delta'));
    sockets[0]?.socket.pause();
    for (const { socket } of sockets) socket.terminate();
    for (;;) {
      const again = await JsonSocket.open(`${base}/v1/realtime`, {
        authorization: `Bearer ${busy.key}`,
      }).catch(() => null);
      if (again) {
        again.socket.close();
        break;
      }
      await systemClock.sleep(20);
    }
  });

  it('a socket is closed after an hour', async () => {
    const socket = await open();
    const closed = socket.closed();
    await api.clock.advance(LIMITS.compatConnectionMs);
    expect(await closed).toBe(1000);
  });
});

describe('stream-input', () => {
  const open = (query = '') =>
    JsonSocket.open(
      `${base}/elevenlabs/v1/text-to-speech/default/stream-input?output_format=pcm_16000${query}`,
      { 'xi-api-key': user.key },
    );
  const audioOf = (messages: readonly { audio?: string | null }[]) =>
    Buffer.concat(messages.map(({ audio }) => Buffer.from(audio ?? '', 'base64')));

  it('accepts text word by word, sends audio as it is made, and isFinal at the end', async () => {
    const socket = await open('&sync_alignment=true');
    const closed = socket.closed();
    socket.send(
      { text: ' ', voice_settings: { stability: 0.5 } },
      { text: 'Good day ' },
      { text: 'to you. ', flush: true },
    );
    const first = await socket.next(({ audio }) => audio);
    socket.send({ text: 'Goodbye.' }, { text: '' });
    expect(await closed).toBe(1000);
    expect(socket.messages.at(-1)).toEqual({ audio: null, isFinal: true });
    const all = [first, ...socket.messages];
    expect(audioOf(all).length).toBeGreaterThan(20_000);
    const alignments = all.flatMap(({ alignment }) => alignment ?? []);
    const starts = alignments.flatMap(({ charStartTimesMs }) => charStartTimesMs);
    expect(alignments.flatMap(({ chars }) => chars).join('')).toMatch(/^Good day to you.*Goodbye/);
    expect(starts).toEqual([...starts].sort((a, b) => a - b));
  });

  it.each([
    ['text that is not JSON', 'nonsense'],
    ['no text', '{"word":"a"}'],
    ['a setting out of range', '{"text":" ","voice_settings":{"stability":7}}'],
  ])('%s is reported and closes the socket', async (_, raw) => {
    const socket = await open();
    const closed = socket.closed();
    socket.socket.send(raw);
    expect(await closed).toBe(1008);
    expect(socket.messages.at(-1)).toMatchObject({ error: 'invalid_request', code: 1008 });
  });

  it('voices, models and formats are checked before the upgrade', async () => {
    const refused = async (path: string) =>
      (await refusedUpgrade(`${base}/elevenlabs/v1/text-to-speech/${path}`, { 'xi-api-key': user.key })).body
        .detail.status;
    expect(await refused('nobody/stream-input')).toBe('voice_not_found');
    expect(await refused('default/stream-input?model_id=gpt-9')).toBe('model_not_found');
    expect(await refused('default/stream-input?output_format=ulaw_8000')).toBe('invalid_request');
  });
});

describe('speech-to-text/realtime', () => {
  const url = (query: string) =>
    `${base}/elevenlabs/v1/speech-to-text/realtime?model_id=scribe_v2_realtime${query}`;

  it('a commit transcribes the audio so far, with words on request', async () => {
    const socket = await JsonSocket.open(url('&include_timestamps=true&language_code=en'), {
      'xi-api-key': user.key,
    });
    expect((await socket.next(is('session_started'))).config).toMatchObject({
      audio_format: 'pcm_16000',
      commit_strategy: 'manual',
    });
    socket.send({ message_type: 'input_audio_chunk', audio_base_64: PCM, commit: true });
    expect((await socket.next(is('committed_transcript'))).text).toBe(HEARD);
    const timed = await socket.next(is('committed_transcript_with_timestamps'));
    expect(timed).toMatchObject({ text: HEARD, language_code: 'en' });
    expect(timed.words.map(({ text }: { text: string }) => text).join('')).toBe(HEARD);
    socket.send({ message_type: 'input_audio_chunk', audio_base_64: '', commit: true });
    expect((await socket.next(is('input_error'))).error).toContain('shorter');
    socket.send({ message_type: 'sing' });
    await socket.next(is('input_error'));
    socket.socket.close();
  });

  it('refuses turn detection and every format but PCM', async () => {
    for (const query of ['&commit_strategy=vad', '&audio_format=ulaw_8000'])
      expect(await refusedUpgrade(url(query), { 'xi-api-key': user.key })).toMatchObject({
        status: 400,
        body: { detail: { status: 'invalid_request' } },
      });
  });
});
