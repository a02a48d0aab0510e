/** A traced call whose engines, caller and clock a test moves. */
import type { Logger } from '#base/log.ts';
import type { FinishedSpan, Tracing } from '#config/tracing.ts';
import type { RecognitionEvent, SpeechError, Synthesizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { TurnLatency } from '#protocol/session-record.ts';
import { type CallTrace, traceCall } from '#runtime/calls/call-trace.ts';
import type { ChatDelta, ChatRequest, LanguageModel } from '#runtime/llm/llm.ts';
import type { TurnConfig } from '#runtime/turn/machine/turn-config.ts';
import type { Effect, TurnWaterfall } from '#runtime/turn/machine/turn-effects.ts';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { type ConfigChanges, testPlan } from '../test-plan.ts';
import { TurnScript } from '../turn/turn-script.ts';

/** The wall time of a call's start. */
export const START = Date.UTC(2026, 0, 1);
/** The span of a call. */
export const ROOT = '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01';
/** The wall time that many ms after the start. */
export const at = (ms: number) => new Date(START + ms).toISOString();
/** Tokens of a generation. */
export const USAGE = { inputTokens: 200, cachedInputTokens: 150, outputTokens: 8 };
/** Said by the caller. */
export const SECRET = 'my card is 4111';

/** A step of an engine: it waits that many ms, has something happen, or gives something. */
type Doing<Given> = readonly (number | (() => void) | Given | Error)[];

/** A clock whose wall time can be set, as an operator or NTP does. */
class SettableClock extends ManualClock {
  #setMs = 0;

  setBack(ms: number): void {
    this.#setMs -= ms;
  }

  override wallTime(): number {
    return super.wallTime() + this.#setMs;
  }
}

/** A traced call under a clock that stands still between the things its engines do. */
export function openCall({
  hasContent = false,
  plan = {},
  config = {},
  modelId = 'openai/gpt',
  turns = {},
  isBroken = false,
}: {
  readonly hasContent?: boolean;
  readonly plan?: Partial<CallPlan>;
  readonly config?: ConfigChanges;
  readonly modelId?: string;
  /** Settings of the turn machine. */
  readonly turns?: Partial<TurnConfig>;
  /** No span can be recorded. */
  readonly isBroken?: boolean;
} = {}) {
  const clock = new SettableClock(START);
  const spans: FinishedSpan[] = [];
  const errors: unknown[] = [];
  const tracing: Tracing = {
    hasContent,
    record: (span) => {
      if (isBroken) throw new Error('a defect of the trace');
      return `${spans.push(span)}`;
    },
    close: async () => undefined,
  };
  const logger = { error: ({ err }: { err?: unknown }) => void errors.push(err) } as Pick<Logger, 'error'>;
  const trace = traceCall(tracing, testPlan(config, { traceparent: ROOT, ...plan } as Partial<CallPlan>), {
    clock,
    logger,
  });

  async function* does<Given extends object>(doing: Doing<Given>): AsyncGenerator<Given> {
    for (const one of doing) {
      if (typeof one === 'number') await clock.advance(one);
      else if (typeof one === 'function') one();
      else if (one instanceof Error) throw one;
      else yield one;
    }
  }
  const engines = (doing: Doing<object> = []) =>
    trace.engines({
      recognizer: null,
      model: { id: modelId, isCustom: false, stream: () => does(doing) } as LanguageModel,
      synthesizer: { id: 'cartesia', voices: [], synthesise: () => does(doing) } as unknown as Synthesizer,
      knowledge: null,
    });
  /** The turn machine; its times are the call's, although the clock stands still. */
  const script: TurnScript = new TurnScript(turns, (input, effects) => {
    trace.step(input, { state: script.state, effects });
    for (const effect of effects) if (effect.do === 'reportTurn') noteTurn(effect.waterfall);
  });
  function noteTurn({ speechEndMs, ...parts }: TurnWaterfall): void {
    trace.note({ type: 'turn', latency: { ...parts, speech_ended_at: at(speechEndMs) } });
  }
  return {
    clock,
    trace,
    script,
    errors,
    ears: openEars(trace, engines(), script),
    step: (fact: TurnFact, ...effects: readonly Effect[]) =>
      trace.step({ ...fact, atMs: clock.now() }, { state: script.state, effects }),
    /** Runs a generation to its end; its failure is the runner's business. */
    async generate(doing: Doing<ChatDelta>, request: Partial<ChatRequest> = {}): Promise<void> {
      try {
        for await (const _ of engines(doing).model.stream({ ...REQUEST, ...request }));
      } catch {}
    },
    async speak(doing: Doing<object>, replyId?: string): Promise<void> {
      const { signal } = new AbortController();
      const options = { voiceId: 'cartesia:Katie', language: 'en', speed: 1, sampleRateHz: 8_000, signal };
      try {
        for await (const _ of engines(doing).synthesizer.synthesise(SECRET, {
          ...options,
          ...(replyId === undefined ? {} : { replyId }),
        }));
      } catch {}
    },
    engines,
    named: (name: string) => spans.filter((span) => span.name === name).map(shown),
    spans,
  };

  function shown(span: FinishedSpan) {
    const parent = spans[Number(span.parent) - 1];
    return {
      of: span.parent === ROOT ? 'call' : parent?.name,
      ofTurn: parent?.attributes?.['parley.turn_id'],
      from: span.startMs - START,
      to: span.endMs - START,
      kind: span.kind,
      status: span.error ?? null,
      ...span.attributes,
    };
  }
}

/** The recogniser of a call, and its facts for the machine. */
function openEars(trace: CallTrace, others: ReturnType<typeof trace.engines>, script: TurnScript) {
  let id = 'deepgram:nova-3';
  let emit = (_: RecognitionEvent): void => undefined;
  const { recognizer } = trace.engines({
    ...others,
    recognizer: {
      get id() {
        return id;
      },
      givesInterims: true,
      expectedFinalMs: 1,
      open({ onEvent }) {
        emit = onEvent;
        return { write: () => undefined, finalise: () => undefined, close: () => undefined };
      },
    },
  });
  const onEvent = (event: RecognitionEvent) => {
    if (event.type === 'failed') script.take({ type: 'recognizer.failed', isRetryable: true });
    else if (event.type === 'finalised') script.take({ type: 'transcript.finalised' });
    else script.take({ type: `transcript.${event.type}`, text: event.text });
  };
  const open = () =>
    recognizer?.open({ sampleRateHz: 8_000, language: 'en', multilingual: false, keyterms: [], onEvent });
  open();
  return {
    interim: (text: string) => emit({ type: 'interim', text }),
    final: (text: string) => emit({ type: 'final', text, startMs: null, endMs: null, language: null }),
    finalised: () => emit({ type: 'finalised' }),
    /** The engine fails; the recogniser has the id of the next one before it says so. */
    fail(error: SpeechError, next: string): void {
      id = next;
      emit({ type: 'failed', error });
      open();
    },
  };
}

/** A request for the reply `r1`. */
export const REQUEST: ChatRequest = {
  messages: [
    { role: 'system', content: 'You are a bank.' },
    { role: 'user', content: SECRET },
  ],
  tools: [],
  maxOutputTokens: null,
  sessionId: 's1',
  endUserId: null,
  extraBody: null,
  speculative: false,
  replyId: 'r1',
  signal: new AbortController().signal,
};

/** The machine asks for a reply of turn 1. */
export const generate = (replyId: string, isSpeculative = false): Effect => ({
  do: 'generate',
  replyId,
  turnId: 1,
  messages: [],
  isSpeculative,
  isSpoken: true,
});

/** The latency of turn 1. */
export const latency = (fromMs: number): TurnLatency => ({
  turn_id: 1,
  speech_ended_at: at(fromMs),
  endpoint_ms: 100,
  transcript_ms: 0,
  first_token_ms: 0,
  first_sentence_ms: 0,
  first_audio_ms: 0,
  playout_ms: 0,
  total_ms: 100,
  endpoint_rule: 'complete',
  speculative: false,
});

/** Audio of that many ms. */
export const sound = (ms: number) => ({ samples: new Int16Array(ms * 8), sampleRateHz: 8_000, words: null });
/** A fact that says nothing about speech. */
export const started: TurnFact = { type: 'call.connected' };
