import { describe, expect, it } from 'vitest';
import type { RecognitionEvent, RecognitionOptions, Recognizer } from '#media/speech/speech.ts';
import { SpeechError } from '#media/speech/speech.ts';
import { RecognitionFeed } from '#runtime/turn/loop/recognition-feed.ts';

/** Every opened stream with the input it received; the test emits the events. */
function recorder() {
  const streams: {
    readonly options: RecognitionOptions;
    readonly heard: number[];
    readonly pieces: number[];
    finalises: number;
    isClosed: boolean;
  }[] = [];
  const recognizer: Recognizer = {
    id: 'recorder',
    givesInterims: true,
    expectedFinalMs: 100,
    open(options) {
      const stream = {
        options,
        heard: [] as number[],
        pieces: [] as number[],
        finalises: 0,
        isClosed: false,
      };
      streams.push(stream);
      return {
        write(samples) {
          for (const sample of samples) stream.heard.push(sample);
          stream.pieces.push(samples.length);
        },
        finalise: () => void stream.finalises++,
        close: () => {
          stream.isClosed = true;
        },
      };
    },
  };
  const events: RecognitionEvent[] = [];
  const feed = new RecognitionFeed({
    recognizer,
    language: 'en',
    multilingual: false,
    keyterms: [],
    onEvent: (event) => events.push(event),
  });
  return { feed, streams, events };
}

const failed: RecognitionEvent = { type: 'failed', error: new SpeechError('connectivity', 'gone') };

describe('a stream opened before the call is answered', () => {
  it('is the one used, so the first word does not wait for another', () => {
    const { feed, streams } = recorder();
    feed.prepare(8_000);
    feed.prepare(8_000);
    expect(streams.map(({ options }) => options.sampleRateHz)).toEqual([8_000]);
    // Audio received before the recogniser is needed is kept for it.
    feed.write(Int16Array.of(1, 2), 8_000);
    expect(streams[0]?.heard).toEqual([]);
    feed.open();
    feed.setVoice(true);
    feed.write(Int16Array.of(3), 8_000);
    expect(streams).toHaveLength(1);
    expect(streams[0]?.heard).toEqual([1, 2, 3]);
  });

  it('is replaced when the leg has another rate', () => {
    const { feed, streams } = recorder();
    feed.prepare(8_000);
    feed.prepare(16_000);
    feed.open();
    expect(streams.map(({ options, isClosed }) => [options.sampleRateHz, isClosed])).toEqual([
      [8_000, true],
      [16_000, false],
    ]);
  });

  it('may fail silently: another one is opened when needed', () => {
    const { feed, streams, events } = recorder();
    feed.prepare(8_000);
    streams[0]?.options.onEvent(failed);
    expect(events).toEqual([]);
    feed.open();
    expect(streams).toHaveLength(2);
    streams[1]?.options.onEvent(failed);
    expect(events).toEqual([failed]);
  });
});

it('a replacement stream gets the unfinalised audio, and answers the pending finalise request', () => {
  const { feed, streams } = recorder();
  feed.open();
  feed.setVoice(true);
  feed.write(Int16Array.of(1), 8_000);
  streams[0]?.options.onEvent({ type: 'final', text: 'one', startMs: null, endMs: null, language: null });
  feed.write(Int16Array.of(2, 3), 8_000);
  feed.finalise();
  streams[0]?.options.onEvent(failed);
  feed.open();
  expect(streams[1]).toMatchObject({ heard: [2, 3], finalises: 1 });
});

it.each([
  { of: 'five seconds', isOwed: false, frames: 250 },
  { of: 'twenty seconds while words are owed', isOwed: true, frames: 1_000 },
])('at most the last $of are kept for a replacement stream', ({ isOwed, frames }) => {
  const { feed, streams } = recorder();
  feed.open();
  if (isOwed) feed.finalise();
  const spoken = Array.from({ length: 1_700 }, (_, value) => value);
  for (const value of spoken) feed.write(new Int16Array(160).fill(value), 8_000);
  streams[0]?.options.onEvent(failed);
  feed.open();
  expect(streams[1]?.heard).toHaveLength(frames * 160);
  expect(streams[1]?.heard.filter((_, sample) => sample % 160 === 0)).toEqual(spoken.slice(-frames));
});

it('a new rate opens a new stream, and the pending finalise request is still answered', () => {
  const { feed, streams } = recorder();
  feed.open();
  feed.setVoice(true);
  feed.finalise();
  feed.write(Int16Array.of(1), 16_000);
  expect(streams.map(({ options }) => options.sampleRateHz)).toEqual([8_000, 16_000]);
  expect(streams[1]).toMatchObject({ heard: [1], finalises: 1 });
});

describe('audio while no voice is detected', () => {
  const frame = (value: number) => new Int16Array(160).fill(value);
  const listening = () => {
    const recorded = recorder();
    recorded.feed.open();
    return recorded;
  };

  it('is written in pieces of 200 ms', () => {
    const { feed, streams } = listening();
    for (let at = 0; at < 12; at++) feed.write(frame(at), 8_000);
    expect(streams[0]?.pieces).toEqual([1_600]);
    expect(streams[0]?.heard.filter((_, sample) => sample % 160 === 0)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    ]);
  });

  it('does not delay voice: it is written together with the voice, and then audio flows directly', () => {
    const { feed, streams } = listening();
    for (const value of [1, 2]) feed.write(frame(value), 8_000);
    feed.setVoice(true);
    for (const value of [3, 4]) feed.write(frame(value), 8_000);
    expect(streams[0]?.pieces).toEqual([320, 160, 160]);
    feed.setVoice(false);
    feed.write(frame(5), 8_000);
    expect(streams[0]?.pieces).toEqual([320, 160, 160]);
  });

  it('is written before the words are requested', () => {
    const { feed, streams } = listening();
    feed.write(frame(1), 8_000);
    feed.finalise();
    expect(streams[0]).toMatchObject({ pieces: [160], finalises: 1 });
  });

  it('survives a failed stream or a final for earlier audio, and is written once', () => {
    const { feed, streams } = listening();
    feed.write(frame(1), 8_000);
    streams[0]?.options.onEvent({ type: 'final', text: 'one', startMs: null, endMs: null, language: null });
    streams[0]?.options.onEvent(failed);
    feed.open();
    feed.write(frame(2), 8_000);
    feed.finalise();
    expect(streams[0]?.pieces).toEqual([]);
    expect(streams[1]?.pieces).toEqual([160, 160]);
  });
});
