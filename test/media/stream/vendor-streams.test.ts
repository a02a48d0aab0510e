/** The messages are the examples of the vendors' pages, which the files under test name. */
import { describe, expect, it } from 'vitest';
import { PlivoStream } from '#media/stream/plivo-stream.ts';
import { TelnyxStream } from '#media/stream/telnyx-stream.ts';
import { MalformedMessage, type VendorStream } from '#media/stream/vendor-stream.ts';
import { VonageStream } from '#media/stream/vonage-stream.ts';

const read = (stream: VendorStream, message: unknown) => stream.read(JSON.stringify(message));
const AUDIO = Uint8Array.of(0xff, 0x7f, 0x00, 0x01);
const PCMU = { type: 'started', format: { encoding: 'PCMU', rateHz: 8000 } };

describe('a stream of Telnyx', () => {
  const STREAM_ID = '32DE0DEA-53CB-4B21-89A4-9E1819C043BC';
  const START = {
    event: 'start',
    sequence_number: '1',
    stream_id: STREAM_ID,
    start: {
      user_id: '3E6F995F-85F7-4705-9741-53B116D28237',
      call_control_id: 'v2:T02llQxIyaRkhfRKxgAP8nY511EhFLizdvdUKJiSw8d6A9BborherQ',
      call_session_id: 'ff55a038-6f5d-11ef-9692-02420aeffb1f',
      from: '+13122010094',
      to: '+13122123456',
      tags: ['TAG1', 'TAG2'],
      client_state: 'aGF2ZSBhIG5pY2UgZGF5ID1d',
      custom_parameters: { customer_id: 'customer_123' },
      media_format: { encoding: 'PCMU', sample_rate: 8000, channels: 1 },
    },
  };

  it('is read', () => {
    const stream = new TelnyxStream();
    const media = { track: 'inbound', chunk: '2', timestamp: '5', payload: '/38AAQ==' };
    const messages = [
      { event: 'connected', version: '1.0.0' },
      START,
      { event: 'media', sequence_number: '4', media, stream_id: STREAM_ID },
      { event: 'media', media: { ...media, track: 'outbound' }, stream_id: STREAM_ID },
      { event: 'mark', sequence_number: '5', mark: { name: '5' }, stream_id: STREAM_ID },
      { event: 'dtmf', sequence_number: '6', dtmf: { digit: '1' }, stream_id: STREAM_ID },
      { event: 'error', payload: { code: 100003, title: 'malformed_frame' }, stream_id: STREAM_ID },
      { event: 'stop', sequence_number: '7', stop: {}, stream_id: STREAM_ID },
    ];
    expect(messages.map((message) => read(stream, message))).toEqual([
      { type: 'other' },
      PCMU,
      { type: 'audio', payload: Buffer.from(AUDIO) },
      { type: 'other' },
      { type: 'mark', name: '5' },
      { type: 'digit', digit: '1' },
      { type: 'other' },
      { type: 'stopped' },
    ]);
  });

  it('is told to play, to report and to discard', () => {
    const stream = new TelnyxStream();
    expect([stream.audio(AUDIO), stream.mark('5'), stream.clear()].map((told) => JSON.parse(told))).toEqual([
      { event: 'media', media: { payload: '/38AAQ==' } },
      { event: 'mark', mark: { name: '5' } },
      { event: 'clear' },
    ]);
  });

  it('in another codec than was asked for is refused', () => {
    const media_format = { encoding: 'OPUS', sample_rate: 16000, channels: 1 };
    const other = { ...START, start: { ...START.start, media_format } };
    expect(() => read(new TelnyxStream(), other)).toThrow(MalformedMessage);
  });
});

describe('a stream of Plivo', () => {
  const START = {
    event: 'start',
    sequenceNumber: 1,
    start: {
      callId: '12345678-1234-1234-1234-123456789abc',
      streamId: '87654321-4321-4321-4321-cba987654321',
      accountId: 'MAXXXXXXXXXXXXXXXXXX',
      tracks: ['inbound'],
      mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000 },
    },
    extra_headers: 'userId=12345;sessionId=abc-xyz',
  };
  const { streamId } = START.start;

  it('is read', () => {
    const stream = new PlivoStream();
    const media = { track: 'inbound', timestamp: '1699999999000', chunk: 1, payload: '/38AAQ==' };
    const messages = [
      START,
      { event: 'media', sequenceNumber: 2, streamId, media, extra_headers: '' },
      { event: 'dtmf', sequenceNumber: 3, streamId, dtmf: { track: 'inbound', digit: '5' } },
      { event: 'playedStream', sequenceNumber: 4, streamId, name: '10' },
      { event: 'clearedAudio', sequenceNumber: 5, streamId },
    ];
    expect(messages.map((message) => read(stream, message))).toEqual([
      PCMU,
      { type: 'audio', payload: Buffer.from(AUDIO) },
      { type: 'digit', digit: '5' },
      { type: 'mark', name: '10' },
      { type: 'other' },
    ]);
  });

  it('is told to play, to report and to discard', () => {
    const stream = new PlivoStream();
    read(stream, START);
    expect([stream.audio(AUDIO), stream.mark('10'), stream.clear()].map((told) => JSON.parse(told))).toEqual([
      {
        event: 'playAudio',
        media: { contentType: 'audio/x-mulaw', sampleRate: 8000, payload: '/38AAQ==' },
      },
      { event: 'checkpoint', streamId, name: '10' },
      { event: 'clearAudio', streamId },
    ]);
  });
});

describe('a stream of Vonage', () => {
  it('is read', () => {
    const stream = new VonageStream();
    const messages = [
      { event: 'websocket:connected', 'content-type': 'audio/l16;rate=16000', prop1: 'value1' },
      { event: 'websocket:dtmf', digit: '5', duration: 260 },
      { event: 'websocket:notify', payload: { mark: '15' } },
      { event: 'websocket:cleared' },
    ];
    expect(messages.map((message) => read(stream, message))).toEqual([
      { type: 'started', format: { encoding: 'L16', rateHz: 16000 } },
      { type: 'digit', digit: '5' },
      { type: 'mark', name: '15' },
      { type: 'other' },
    ]);
    expect(stream.read(AUDIO)).toEqual({ type: 'audio', payload: AUDIO });
  });

  it('is told to play, to report and to discard', () => {
    const stream = new VonageStream();
    expect(stream.audio(AUDIO)).toBe(AUDIO);
    expect([stream.mark('15'), stream.clear()].map((told) => JSON.parse(told))).toEqual([
      { action: 'notify', payload: { mark: '15' } },
      { action: 'clear' },
    ]);
  });

  it('at another rate than was asked for, or with half a sample, is refused', () => {
    const connected = { event: 'websocket:connected', 'content-type': 'audio/l16;rate=8000' };
    expect(() => read(new VonageStream(), connected)).toThrow(MalformedMessage);
    expect(() => new VonageStream().read(AUDIO.subarray(1))).toThrow(MalformedMessage);
  });
});

describe.each([
  ['Telnyx', () => new TelnyxStream()],
  ['Plivo', () => new PlivoStream()],
  ['Vonage', () => new VonageStream()],
])('%s', (_, open) => {
  it.each(['', 'null', '[]', '{}', '{"event":7}', '{"event":"dtmf"}', '{"event":"websocket:dtmf"}'])(
    'never says %s',
    (text) => {
      let event: unknown;
      try {
        event = open().read(text);
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedMessage);
        return;
      }
      expect(event).toEqual({ type: 'other' });
    },
  );
});
