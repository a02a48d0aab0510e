/**
 * Requirements for every recogniser and synthesiser, whatever the vendor: one suite, run by each engine's own
 * test file.
 */
import { expect, it } from 'vitest';
import type {
  RecognitionEvent,
  RecognitionStream,
  Recognizer,
  SpeechError,
  Synthesizer,
} from '#media/speech/speech.ts';
import { collect } from '#test/collect.ts';

/** An engine prepared to recognise `phrases` in `speech`. */
export interface RecognizerUnderTest {
  readonly recognizer: Recognizer;
  readonly sampleRateHz: number;
  /** Audio of the phrases, in order, at that rate. */
  readonly speech: readonly Int16Array[];
  readonly phrases: readonly string[];
}

/** A recognition with its events recorded. */
export class Recording {
  readonly events: RecognitionEvent[] = [];
  readonly stream: RecognitionStream;
  readonly #rateHz: number;
  #wake: () => void = () => {};

  constructor(recognizer: Recognizer, sampleRateHz: number, keyterms: readonly string[] = []) {
    this.#rateHz = sampleRateHz;
    this.stream = recognizer.open({
      sampleRateHz,
      language: 'en',
      multilingual: false,
      keyterms,
      onEvent: (event) => {
        this.events.push(event);
        this.#wake();
      },
    });
  }

  /** Writes 20 ms frames from one array that is overwritten each time, as a leg does. */
  write(samples: Int16Array): void {
    const frame = new Int16Array(this.#rateHz / 50);
    for (let at = 0; at < samples.length; at += frame.length) {
      frame.fill(0).set(samples.subarray(at, at + frame.length));
      this.stream.write(frame);
    }
    frame.fill(12_345);
  }

  /** Resolves once this many events of the type have been received. */
  async until(type: RecognitionEvent['type'], count = 1): Promise<void> {
    while (this.of(type).length < count) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  of(type: RecognitionEvent['type']): RecognitionEvent[] {
    return this.events.filter((event) => event.type === type);
  }

  get finals(): string {
    return this.events
      .flatMap((event) => (event.type === 'final' ? [event.text.toLowerCase()] : []))
      .join(' ');
  }
}

/** Silence as on a caller's line. */
export function silence(sampleRateHz: number, ms: number): Int16Array {
  return new Int16Array((sampleRateHz * ms) / 1_000);
}

/** Tests for every recogniser; `setUp` is called once per test. */
export function recognizerConforms(setUp: () => Promise<RecognizerUnderTest>): void {
  const begin = async () => {
    const subject = await setUp();
    return {
      ...subject,
      recording: () => new Recording(subject.recognizer, subject.sampleRateHz, subject.phrases),
    };
  };

  it('each phrase is finalised on request, in order, with the finals before the answer', async () => {
    const { recording, speech, phrases } = await begin();
    const heard = recording();
    for (const [index, samples] of speech.entries()) {
      heard.write(samples);
      heard.stream.finalise();
      await heard.until('finalised', index + 1);
      expect(heard.finals).toBe(phrases.slice(0, index + 1).join(' '));
      expect(heard.events.at(-1)?.type).toBe('finalised');
    }
    heard.stream.close();
  });

  it('every finalise request is answered, also several at once and with nothing pending', async () => {
    const { recording, sampleRateHz, speech, phrases } = await begin();
    const heard = recording();
    heard.stream.finalise();
    heard.write(silence(sampleRateHz, 400));
    heard.stream.finalise();
    heard.write(speech[0]!);
    heard.stream.finalise();
    heard.stream.finalise();
    await heard.until('finalised', 4);
    expect(heard.finals).toBe(phrases[0]);
    expect(heard.of('failed')).toEqual([]);
    heard.stream.close();
  });

  it('interleaved streams are kept separate', async () => {
    const { recording, speech, phrases, sampleRateHz } = await begin();
    const streams = [recording(), recording()];
    const half = sampleRateHz / 2;
    for (let at = 0; at < speech[0]!.length; at += half)
      for (const stream of streams) stream.write(speech[0]!.subarray(at, at + half));
    streams[0]!.stream.finalise();
    await streams[0]!.until('finalised');
    expect(streams[0]!.finals).toBe(phrases[0]);
    expect(streams[1]!.of('finalised')).toEqual([]);
    streams[1]!.stream.finalise();
    await streams[1]!.until('finalised');
    expect(streams[1]!.finals).toBe(phrases[0]);
    for (const { stream } of streams) stream.close();
  });

  it('nothing is emitted after close, even with work in progress, and close may be repeated', async () => {
    const { recording, speech } = await begin();
    const [closed, kept] = [recording(), recording()];
    for (const heard of [closed, kept]) {
      heard.write(speech[0]!);
      heard.stream.finalise();
    }
    closed.stream.close();
    closed.stream.close();
    const seen = closed.events.length;
    closed.write(speech[0]!);
    closed.stream.finalise();
    // Once the other stream has its answer, the closed stream's would have arrived too.
    await kept.until('finalised');
    expect(closed.events.length).toBe(seen);
    kept.stream.close();
  });
}

/**
 * A recogniser must give up by itself when its vendor accepts the connection and never answers; `pass`
 * advances time.
 */
export async function expectStalled(heard: Recording, pass: () => Promise<void>): Promise<void> {
  await pass();
  await heard.until('failed');
  const [event] = heard.of('failed');
  expect((event as { error: SpeechError }).error).toMatchObject({
    name: 'SpeechError',
    category: 'stalled',
    retryable: true,
  });
  const seen = heard.events.length;
  heard.stream.finalise();
  heard.stream.close();
  expect(heard.events.length).toBe(seen);
}

/** A turn of "book a table" that the vendor ends is reported once, as it arrives, and with its times. */
export async function expectVendorsTurnOnce(heard: Recording, rateHz: number): Promise<void> {
  heard.write(buzz(rateHz, 900));
  heard.write(silence(rateHz, 600));
  await heard.until('final');
  expect(heard.events[0]).toEqual({ type: 'interim', text: 'book' });
  expect(heard.of('final')).toEqual([
    { type: 'final', text: 'book a table', startMs: 0, endMs: 550, language: null },
  ]);
  heard.stream.finalise();
  await heard.until('finalised');
  expect(heard.of('final')).toHaveLength(1);
  heard.stream.close();
}

/** Tests for every synthesiser. */
export function synthesizerConforms(setUp: () => Promise<Synthesizer>): void {
  const text = 'One sentence here. And a second one there.';
  const options = (signal = new AbortController().signal) => ({
    voiceId: null,
    language: 'en',
    speed: 1,
    sampleRateHz: 16_000,
    signal,
  });

  it('chunks have one rate and are not empty, and word times are in order and within the text', async () => {
    const chunks = await collect((await setUp()).synthesise(text, options()));
    expect(chunks.length).toBeGreaterThan(0);
    expect(new Set(chunks.map((chunk) => chunk.sampleRateHz)).size).toBe(1);
    for (const chunk of chunks) expect(chunk.samples.length).toBeGreaterThan(0);
    const words = chunks.flatMap((chunk) => chunk.words ?? []);
    expect([...words].sort((a, b) => a.startMs - b.startMs)).toEqual(words);
    for (const word of words) expect(text.slice(word.textStart, word.textEnd)).toMatch(/^\S+$/);
  });

  it('an abort rejects with its reason, before and between chunks', async () => {
    const synthesizer = await setUp();
    await expect(
      collect(synthesizer.synthesise(text, options(AbortSignal.abort(new Error('too late'))))),
    ).rejects.toThrow('too late');
    const abort = new AbortController();
    const run = async () => {
      for await (const _ of synthesizer.synthesise(text.repeat(5), options(abort.signal)))
        abort.abort(new Error('interrupted'));
    };
    await expect(run()).rejects.toThrow('interrupted');
  });

  it('concurrent syntheses are kept separate', async () => {
    const synthesizer = await setUp();
    const total = async (said: string) =>
      (await collect(synthesizer.synthesise(said, options()))).reduce(
        (sum, chunk) => sum + chunk.samples.length,
        0,
      );
    const [long, short] = [await total(text), await total('No.')];
    const atOnce = await Promise.all([total(text), total('No.'), total(text)]);
    // To a hundredth: some voices never say a text exactly the same way twice.
    expect(
      atOnce.map((samples, index) => Math.round((100 * samples) / (index === 1 ? short : long))),
    ).toEqual([100, 100, 100]);
  });

  it('empty text produces no audio', async () => {
    expect(await collect((await setUp()).synthesise('   ', options()))).toEqual([]);
  });
}

/**
 * Audio that any energy detector classifies as speech: bursts of a buzzing tone, with silence around them.
 */
export function buzz(sampleRateHz: number, ms: number): Int16Array {
  const samples = new Int16Array((sampleRateHz * (ms + 400)) / 1_000);
  const start = (sampleRateHz * 200) / 1_000;
  const end = samples.length - start;
  for (let index = start; index < end; index++)
    samples[index] = Math.round(6_000 * Math.sin(index / 7) * Math.sin(index / 900));
  return samples;
}
