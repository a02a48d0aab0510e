/** Engines of a simulated call: randomly scripted, with the delays and faults of real ones. */
import type { Clock } from '#base/clock.ts';
import {
  type RecognitionEvent,
  type RecognitionOptions,
  type Recognizer,
  SpeechError,
  type SpokenWord,
  type Synthesizer,
} from '#media/speech/speech.ts';
import { type ChatDelta, type LanguageModel, ModelError } from '#runtime/llm/llm.ts';
import type { ToolRunner } from '#runtime/tools/tool-runner.ts';
import { lettersOf } from '#runtime/turn/text/word-alignment.ts';
import { soundsOf } from '#runtime/turn/text/word-sounds.ts';
import type { Random } from './random.ts';
import { SIMULATED_RATE_HZ, type SpokenWords } from './simulated-leg.ts';

const VOCABULARY =
  'alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa'.split(
    ' ',
  );

const OTHER_INPUT = '{"farewell":"So long.","destination":"Sales"}';

/** Questions whose answers the callers know. */
const QUESTIONS = [
  'Is that right?',
  'Can I have your phone number, please?',
  'Would you like a table inside or outside?',
  'Is there anything else?',
];

/** A voice that encodes word numbers in the samples; it reports word times or not, as the engine would. */
export function createSimulatedVoice(options: {
  clock: Clock;
  random: Random;
  words: SpokenWords;
  givesWordTimes: boolean;
}): Synthesizer {
  const { clock, random, words, givesWordTimes } = options;
  return {
    id: 'simulated',
    voices: [],
    async *synthesise(text, { signal }) {
      await clock.sleep(random.between(5, 250), signal);
      if (random.chance(0.01)) throw new SpeechError('connectivity', 'the voice was lost');
      let elapsedMs = 0;
      for (const match of text.matchAll(/\S+/g)) {
        // The product estimates a voice without word times by letters, and the voice therefore speaks by
        // letters.
        const samples = Math.round(
          givesWordTimes
            ? random.between(120, 400)
            : lettersOf([{ sounds: soundsOf(match[0]), mayPause: false }]) * random.between(45, 70),
        );
        const number = words.add(match[0], samples);
        const audio = new Int16Array(samples).fill(number);
        const word: SpokenWord = {
          textStart: match.index,
          textEnd: match.index + match[0].length,
          startMs: elapsedMs,
          endMs: elapsedMs + samples,
        };
        elapsedMs += samples;
        yield { samples: audio, sampleRateHz: SIMULATED_RATE_HZ, words: givesWordTimes ? [word] : null };
        if (random.chance(0.05)) await clock.sleep(random.between(1, 600), signal);
      }
    },
  };
}

/** A model that writes random sentences, calls tools, hesitates, answers nothing, fails and hangs. */
export function createSimulatedModel(options: {
  clock: Clock;
  random: Random;
  faults: number;
  canHangUp: boolean;
  canTransfer: boolean;
  /** Tools of a server, which it calls whether they are offered or not. */
  served: readonly string[];
  /** ms; null: random for each request. */
  firstTokenMs: number | null;
}): LanguageModel {
  const { clock, random, faults, canHangUp, canTransfer, firstTokenMs, served } = options;
  let calls = 0;

  function toolToCall(): string | null {
    if (served.length > 0 && random.chance(0.5)) return random.pick(served);
    if (random.chance(0.2)) return random.pick(['look_up', 'look_up', 'notify', 'remember', 'invented']);
    if (canHangUp && random.chance(0.08)) return '_hang_up_call';
    return canTransfer && random.chance(0.1) ? '_transfer_call' : null;
  }

  function* toolCalls(): Generator<ChatDelta> {
    const toolName = toolToCall();
    if (!toolName) return;
    // Some models make the same call twice in one reply.
    for (let left = random.chance(0.1) ? 2 : 1; left > 0; left--) {
      const callId = `c${++calls}`;
      const input = served.includes(toolName) ? JSON.stringify({ call: callId }) : OTHER_INPUT;
      yield { type: 'tool_call', call: { callId, toolName, input } };
    }
  }

  async function* sentences(breaks: boolean, signal: AbortSignal): AsyncGenerator<ChatDelta> {
    const count = Math.floor(random.between(0, 4));
    for (let sentence = 0; sentence <= count; sentence++) {
      const said = Array.from({ length: Math.floor(random.between(2, 14)) }, () => random.pick(VOCABULARY));
      const statement = `${said.join(' ')}${random.pick(['.', '?', ', papa.'])}`;
      yield { type: 'text', text: `${random.chance(0.15) ? random.pick(QUESTIONS) : statement} ` };
      if (breaks && sentence === 1) throw new ModelError('the stream broke', { retryable: true });
      await clock.sleep(random.between(5, 300), signal);
    }
  }

  return {
    id: 'simulated/model',
    isCustom: false,
    async *stream({ signal, messages, tools }): AsyncGenerator<ChatDelta> {
      const stumble = random.chance(faults)
        ? random.pick(['throw', 'empty', 'hang', 'slow', 'break'] as const)
        : 'none';
      await clock.sleep(
        stumble === 'slow' ? random.between(2_000, 7_000) : (firstTokenMs ?? random.between(60, 900)),
        signal,
      );
      if (stumble === 'throw')
        throw new ModelError('the model is overloaded', { retryable: random.chance(0.8), status: 503 });
      if (stumble === 'hang') await clock.sleep(3_600_000, signal);
      if (stumble !== 'empty') yield* sentences(stumble === 'break', signal);
      if (messages.at(-1)?.role !== 'tool' && stumble === 'none' && tools.length > 0) yield* toolCalls();
      yield { type: 'finish', usage: { inputTokens: 10, outputTokens: 10, cachedInputTokens: null } };
    },
  };
}

const TOOL_TRAITS: Readonly<Record<string, ReturnType<ToolRunner['traits']>>> = {
  look_up: { mode: 'blocking', source: 'webhook' },
  notify: { mode: 'fire_and_forget', source: 'webhook' },
  remember: { mode: 'background', source: 'webhook' },
};

/** Tools that take time. */
export function createSimulatedTools(options: { clock: Clock; random: Random }): ToolRunner {
  const { clock, random } = options;
  const failed = (error: string) => ({
    status: 'failed' as const,
    output: null,
    outputTruncated: false,
    error,
    latencyMs: 0,
    modelText: error,
  });
  return {
    definitions: [
      { name: 'look_up', description: '', arguments: [] },
      { name: 'notify', description: '', arguments: [] },
      { name: 'remember', description: '', arguments: [] },
    ],
    traits: (name) => TOOL_TRAITS[name] ?? null,
    async run(call, { signal }) {
      const latencyMs = random.between(20, 4_000);
      try {
        await clock.sleep(latencyMs, signal);
      } catch {
        return failed('aborted');
      }
      if (call.toolName === 'invented') return failed('no such tool');
      return {
        status: 'completed',
        output: 'found',
        outputTruncated: false,
        error: null,
        latencyMs,
        modelText: 'found',
      };
    },
    close: () => undefined,
  };
}

/** How a simulated recogniser behaves. */
export interface RecognizerHabits {
  readonly givesInterims: boolean;
  readonly finalDelayMs: readonly [number, number];
  readonly faults: number;
}

/** A recogniser that receives the spoken words from the test. */
export interface SimulatedRecognizer extends Recognizer {
  /** The caller says `words` in sequence, each ending at its time. */
  hear(words: readonly { readonly text: string; readonly endMs: number }[]): void;
}

/** Creates a recogniser whose words arrive late, in pieces, or not at all. */
export function createSimulatedRecognizer(options: {
  clock: Clock;
  random: Random;
  habits: RecognizerHabits;
}): SimulatedRecognizer {
  const { clock, habits, random } = options;
  let emit: ((event: RecognitionEvent) => void) | null = null;
  let heard: string[] = [];
  let unsettled = 0;

  function settle(): void {
    if (heard.length > 0)
      emit?.({ type: 'final', text: heard.join(' '), startMs: null, endMs: null, language: null });
    heard = [];
  }

  function open({ onEvent }: RecognitionOptions) {
    emit = onEvent;
    return {
      write: () => undefined,
      finalise: () => {
        clock.after(random.between(...habits.finalDelayMs), () => {
          if (random.chance(habits.faults)) return;
          settle();
          onEvent({ type: 'finalised' });
        });
      },
      close: () => {
        if (emit === onEvent) emit = null;
      },
    };
  }

  function catchWord(text: string): void {
    unsettled -= 1;
    if (random.chance(habits.faults / 10)) {
      emit?.({
        type: 'failed',
        error: new SpeechError(random.chance(0.9) ? 'connectivity' : 'quota', 'lost'),
      });
      return;
    }
    heard.push(text);
    if (habits.givesInterims && random.chance(0.7)) emit?.({ type: 'interim', text: heard.join(' ') });
    if (unsettled === 0 && random.chance(0.3)) settle();
  }

  return {
    id: 'simulated',
    givesInterims: habits.givesInterims,
    expectedFinalMs: 700,
    open,
    hear(words) {
      for (const { text, endMs } of words) {
        unsettled += 1;
        clock.after(endMs - clock.now() + random.between(60, 300), () => catchWord(text));
      }
    },
  };
}
