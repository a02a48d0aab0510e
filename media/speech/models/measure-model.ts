/**
 * Loads a model as a call would and measures its real-time factor: processing time per time of audio, of one
 * stream on one core beside whatever else runs.
 */
import type { Clock } from '#base/clock.ts';
import { createSherpa } from '../local/sherpa.ts';
import { createSherpaVoice } from '../local/sherpa-voice.ts';
import { SpeechError } from '../speech.ts';
import { recogniserIn, voiceIn } from './installed-models.ts';
import { ModelError } from './model-error.ts';
import type { SpeechModel } from './model-table.ts';

const RATE_HZ = 16_000;
const WARM_UP_SECONDS = 1;
const MEASURED_SECONDS = 5;
/** Loading may outlast the limit of a live call's first answer, which fails the stream, not the process. */
const ATTEMPTS_TO_LOAD = 4;
const SENTENCE = 'this sentence measures how fast the voice speaks on this machine';

/** Measures the model of this directory. Throws `ModelError('unloadable')`, or the signal's reason. */
export async function measureModel(
  { kind, languages }: Pick<SpeechModel, 'kind' | 'languages'>,
  directory: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<number> {
  signal.throwIfAborted();
  const [language = 'en'] = languages;
  try {
    return kind === 'recogniser'
      ? await measureRecogniser(directory, language, { clock, signal })
      : await measureVoice(directory, language, { clock, signal });
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    throw new ModelError('unloadable', `The model does not run on this machine: ${why}`, { cause: error });
  }
}

interface Measuring {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

async function measureRecogniser(directory: string, language: string, measuring: Measuring): Promise<number> {
  const { clock } = measuring;
  const files = recogniserIn(directory);
  if (!files) throw new Error('its files are not those of a streaming transducer');
  const recogniser = createSherpa(files, clock);
  const hear = (seconds: number) =>
    new Promise<void>((resolve, reject) => {
      const stream = recogniser.open({
        sampleRateHz: RATE_HZ,
        language,
        multilingual: false,
        keyterms: [],
        onEvent(event) {
          if (event.type === 'finalised') settle(resolve);
          if (event.type === 'failed') settle(() => reject(event.error));
        },
      });
      const onAbort = () => settle(() => reject(measuring.signal.reason));
      const settle = (how: () => void) => {
        measuring.signal.removeEventListener('abort', onAbort);
        // Closed outside the engine's own callback.
        setImmediate(() => stream.close());
        how();
      };
      measuring.signal.addEventListener('abort', onAbort, { once: true });
      stream.write(noise(seconds * RATE_HZ));
      stream.finalise();
    });
  try {
    await loaded(() => hear(WARM_UP_SECONDS));
    const startedMs = clock.now();
    await hear(MEASURED_SECONDS);
    return round((clock.now() - startedMs) / (MEASURED_SECONDS * 1_000));
  } finally {
    await recogniser.close();
  }
}

async function loaded(hear: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      await hear();
      return;
    } catch (error) {
      const isLoading = error instanceof SpeechError && error.category === 'stalled';
      if (!isLoading || attempt === ATTEMPTS_TO_LOAD) throw error;
    }
}

async function measureVoice(
  directory: string,
  language: string,
  { clock, signal }: Measuring,
): Promise<number> {
  const files = voiceIn(directory);
  if (!files) throw new Error('its files are not those of a voice');
  const voice = createSherpaVoice({ id: 'measured', title: 'measured', languages: [language], files }, clock);
  const speak = async (text: string) => {
    let seconds = 0;
    const options = { voiceId: null, language, speed: 1, sampleRateHz: RATE_HZ, signal };
    for await (const { samples, sampleRateHz } of voice.synthesise(text, options))
      seconds += samples.length / sampleRateHz;
    return seconds;
  };
  try {
    await speak(SENTENCE);
    const startedMs = clock.now();
    const seconds = await speak(SENTENCE);
    if (seconds === 0) throw new Error('it speaks no sound');
    return round((clock.now() - startedMs) / (seconds * 1_000));
  } finally {
    await voice.close();
  }
}

/** Steady noise: a recogniser computes as much for it as for words. */
function noise(count: number): Int16Array {
  let state = 1;
  return Int16Array.from({ length: count }, () => {
    state = (state * 16_807) % 2_147_483_647;
    return (state % 6_000) - 3_000;
  });
}

/** To three digits, and never 0. */
function round(factor: number): number {
  return Math.max(0.001, Math.round(factor * 1_000) / 1_000);
}
