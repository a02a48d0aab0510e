/** The messages are the examples of Twilio's page "Media Streams - WebSocket Messages". */
import { beforeEach, describe, expect, it } from 'vitest';
import { TwilioStream } from '#media/stream/twilio-stream.ts';
import { MalformedMessage } from '#media/stream/vendor-stream.ts';

const STREAM_SID = 'MZXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX';
const START = {
  event: 'start',
  sequenceNumber: '1',
  start: {
    accountSid: 'ACXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX',
    streamSid: STREAM_SID,
    callSid: 'CAXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX',
    tracks: ['inbound'],
    mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
    customParameters: { FirstName: 'Jane' },
  },
  streamSid: STREAM_SID,
};

let stream: TwilioStream;
const read = (message: unknown) => stream.read(JSON.stringify(message));

beforeEach(() => {
  stream = new TwilioStream();
  read(START);
});

describe('a stream of Twilio', () => {
  it('says that it is there, and then what audio it brings', () => {
    expect(read({ event: 'connected', protocol: 'Call', version: '1.0.0' })).toEqual({ type: 'other' });
    expect(read(START)).toEqual({ type: 'started', format: { encoding: 'PCMU', rateHz: 8000 } });
  });

  it('brings the caller’s audio, and not ours', () => {
    const media = { track: 'inbound', chunk: '1', timestamp: '5', payload: '/38A' };
    expect(read({ event: 'media', sequenceNumber: '3', media, streamSid: STREAM_SID })).toEqual({
      type: 'audio',
      payload: Buffer.from([0xff, 0x7f, 0x00]),
    });
    expect(read({ event: 'media', media: { ...media, track: 'outbound' } })).toEqual({ type: 'other' });
  });

  it('brings keys, marks and its end', () => {
    const dtmf = { track: 'inbound_track', digit: '1' };
    expect(read({ event: 'dtmf', streamSid: STREAM_SID, sequenceNumber: '5', dtmf })).toEqual({
      type: 'digit',
      digit: '1',
    });
    expect(read({ event: 'mark', sequenceNumber: '4', streamSid: STREAM_SID, mark: { name: '17' } })).toEqual(
      {
        type: 'mark',
        name: '17',
      },
    );
    const stop = { accountSid: 'AC', callSid: 'CA' };
    expect(read({ event: 'stop', sequenceNumber: '5', stop, streamSid: STREAM_SID })).toEqual({
      type: 'stopped',
    });
  });

  it('may say more than we know', () => {
    expect(read({ event: 'weather', streamSid: STREAM_SID })).toEqual({ type: 'other' });
    expect(read({ ...START, novelty: true })).toMatchObject({ type: 'started' });
  });

  it.each(['', 'null', '[]', '{}', '{"event":7}', '{"event":"start"}', '{"event":"media","media":{}}'])(
    'is not one that says %s',
    (text) => {
      expect(() => stream.read(text)).toThrow(MalformedMessage);
    },
  );

  it('is not one of audio in another form', () => {
    const mediaFormat = { encoding: 'audio/l16', sampleRate: 16000, channels: 1 };
    expect(() => read({ ...START, start: { mediaFormat } })).toThrow(MalformedMessage);
  });

  it('is told in Twilio’s words to play, to report and to discard', () => {
    const told = [stream.audio(Uint8Array.of(0xff, 0x7f, 0x00)), stream.mark('17'), stream.clear()];
    expect(told.map((text) => JSON.parse(text))).toEqual([
      { event: 'media', streamSid: STREAM_SID, media: { payload: '/38A' } },
      { event: 'mark', streamSid: STREAM_SID, mark: { name: '17' } },
      { event: 'clear', streamSid: STREAM_SID },
    ]);
  });
});
