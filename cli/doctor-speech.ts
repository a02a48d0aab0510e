/** The doctor's check of the configured speech engines: synthesises a sentence and recognises it. */
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { messageOf } from '#base/message-of.ts';
import type { Settings } from '#config/env.ts';
import { openSpeechEngines } from '#media/speech/engines.ts';
import type { Recognizer, Synthesizer } from '#media/speech/speech.ts';
import type { CheckResult } from './check-result.ts';

const SENTENCE = 'Hello, what are your opening hours?';
const LANGUAGE = 'en';
const WANTED_RATE_HZ = 16_000;
const LIMIT_MS = 30_000;

/** Checks synthesis, then recognition of the synthesised audio. */
export async function* checkSpeech(settings: Settings): AsyncGenerator<CheckResult> {
  const logger = createLogger({ level: 'silent', name: 'doctor' });
  const engines = await openSpeechEngines({
    settings,
    searchPath: process.env['PATH'] ?? '',
    clock: systemClock,
    logger,
  });
  try {
    const [synthesizer, recognizer] = [
      engines.synthesizerFor('default'),
      engines.recognizerFor('', LANGUAGE),
    ];
    const spoken = await speak(synthesizer).catch((error: unknown) => messageOf(error));
    const subject = 'Speech synthesis';
    if (typeof spoken === 'string') {
      yield {
        subject,
        verdict: 'failed',
        result: `${synthesizer.id}: ${spoken}`,
        fix: 'check TTS_PROVIDER and its key and base address',
      };
      return;
    }
    yield {
      subject,
      verdict: 'ok',
      result: `${synthesizer.id} spoke ${(spoken.samples.length / spoken.rateHz).toFixed(1)} s`,
    };
    yield await recognise(recognizer, spoken);
  } finally {
    await engines.close();
  }
}

interface Recording {
  readonly samples: Int16Array;
  readonly rateHz: number;
}

async function speak(synthesizer: Synthesizer): Promise<Recording> {
  const signal = AbortSignal.timeout(LIMIT_MS);
  const chunks: Int16Array[] = [];
  let rateHz = WANTED_RATE_HZ;
  for await (const chunk of synthesizer.synthesise(SENTENCE, {
    voiceId: null,
    language: LANGUAGE,
    speed: 1,
    sampleRateHz: WANTED_RATE_HZ,
    signal,
  })) {
    chunks.push(chunk.samples);
    rateHz = chunk.sampleRateHz;
  }
  const samples = Int16Array.from(chunks.flatMap((chunk) => [...chunk]));
  if (!samples.some((sample) => sample !== 0)) throw new Error('it answered with silence');
  return { samples, rateHz };
}

async function recognise(
  recognizer: Recognizer | null,
  { samples, rateHz }: Recording,
): Promise<CheckResult> {
  const subject = 'Speech recognition';
  if (!recognizer)
    return {
      subject,
      verdict: 'failed',
      result: 'no recogniser: callers can only press keys',
      fix: 'npx parley models downloads one, or set ASR_PROVIDER and its key',
    };
  const fix = 'check ASR_PROVIDER and its key and base address';
  const heard = await listen(recognizer, { samples, rateHz }).catch((error: unknown) => ({
    error: messageOf(error),
  }));
  if (typeof heard !== 'string')
    return { subject, verdict: 'failed', result: `${recognizer.id}: ${heard.error}`, fix };
  if (heard === '')
    return { subject, verdict: 'failed', result: `${recognizer.id} heard no words in “${SENTENCE}”`, fix };
  return { subject, verdict: 'ok', result: `${recognizer.id} heard “${heard}”` };
}

function listen(recognizer: Recognizer, { samples, rateHz }: Recording): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    const finals: string[] = [];
    const limit = setTimeout(() => reject(new Error(`no words within ${LIMIT_MS / 1000} s`)), LIMIT_MS);
    const stream = recognizer.open({
      sampleRateHz: rateHz,
      language: LANGUAGE,
      multilingual: false,
      keyterms: [],
      onEvent(event) {
        if (event.type === 'final') finals.push(event.text);
        if (event.type === 'finalised') end(() => resolve(finals.join(' ').trim()));
        if (event.type === 'failed') end(() => reject(event.error));
      },
    });
    const end = (settle: () => void) => {
      clearTimeout(limit);
      // Closed outside the engine's own callback.
      setImmediate(() => stream.close());
      settle();
    };
    const frame = Math.round(rateHz / 50);
    for (let at = 0; at < samples.length; at += frame) stream.write(samples.subarray(at, at + frame));
    // Engines that detect the end of speech need silence after it.
    for (let count = 0; count < 50; count++) stream.write(new Int16Array(frame));
    stream.finalise();
  });
}
