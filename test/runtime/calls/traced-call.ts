/** A traced call whose engines, caller and clock a test moves. */
import type { FinishedSpan, Tracing } from '#config/tracing.ts';
import type { Synthesizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { TurnLatency } from '#protocol/session-record.ts';
import { traceCall } from '#runtime/calls/call-trace.ts';
import type { ChatDelta, ChatRequest, LanguageModel } from '#runtime/llm/llm.ts';
import type { Effect } from '#runtime/turn/machine/turn-effects.ts';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { testPlan } from '../test-plan.ts';

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

/** What an engine does: waits that many ms, or gives something. */
type Doing<Given> = readonly (number | Given | Error)[];

/** A traced call under a clock that stands still between the things its engines do. */
export function openCall({
  hasContent = false,
  plan = {},
}: {
  readonly hasContent?: boolean;
  readonly plan?: Partial<CallPlan>;
} = {}) {
  const clock = new ManualClock(START);
  const spans: FinishedSpan[] = [];
  const tracing: Tracing = {
    hasContent,
    record: (span) => `${spans.push(span)}`,
    close: async () => undefined,
  };
  const trace = traceCall(tracing, testPlan({}, { traceparent: ROOT, ...plan } as Partial<CallPlan>), clock);

  async function* does<Given extends object>(doing: Doing<Given>): AsyncGenerator<Given> {
    for (const one of doing) {
      if (typeof one === 'number') await clock.advance(one);
      else if (one instanceof Error) throw one;
      else yield one;
    }
  }
  const engines = (doing: Doing<object> = []) =>
    trace.engines({
      recognizer: { id: 'deepgram:nova-3', givesInterims: true, expectedFinalMs: 1, open: () => never() },
      model: { id: 'openai/gpt', isCustom: false, stream: () => does(doing) } as LanguageModel,
      synthesizer: { id: 'cartesia', voices: [], synthesise: () => does(doing) } as unknown as Synthesizer,
      knowledge: null,
    });
  return {
    clock,
    trace,
    step: (fact: TurnFact, ...effects: readonly Effect[]) =>
      trace.step({ ...fact, atMs: clock.now() }, effects),
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
    const of = span.parent === ROOT ? 'call' : spans[Number(span.parent) - 1]?.name;
    return { of, from: span.startMs - START, to: span.endMs - START, kind: span.kind, ...span.attributes };
  }
}

function never(): never {
  throw new Error('not used');
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
