/** A call on virtual time. */
import { pino } from 'pino';
import type { Variables } from '#config/agent-config.ts';
import type { Leg } from '#media/leg/leg.ts';
import type { Recognizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { DurableReport, FailoverState } from '#protocol/worker-link.ts';
import { type CallDeps, startCall } from '#runtime/calls/call.ts';
import type { RecordingSegment } from '#runtime/calls/call-recording.ts';
import type { CallKnowledge } from '#runtime/knowledge/knowledge-search.ts';
import type { ChatDelta, ChatRequest, LanguageModel } from '#runtime/llm/llm.ts';
import { SimulatedClock } from '../../simulation/simulated-clock.ts';
import { createSpokenWords, SIMULATED_RATE_HZ, SimulatedLeg } from '../../simulation/simulated-leg.ts';
import { testPlan } from '../test-plan.ts';

/** An agent with a fixed greeting. */
export const FIXED = {
  prompt: { first_message_mode: 'fixed', first_message: 'Hello {{name}}, how are you?' },
};

/** Engines that a call need not have. */
type OtherEngines = Pick<CallDeps, 'recognizer' | 'recordedVoicemail'>;

/** A call on virtual time with a voice at 200 ms per word and a model that answers `Fine, thank you.` */
export function setUp(
  plan: CallPlan = testPlan(FIXED),
  knowledge: CallKnowledge | null = null,
  engines: Recognizer | OtherEngines | null = null,
  failoverState: FailoverState | null = null,
) {
  const others: OtherEngines = engines === null || 'open' in engines ? { recognizer: engines } : engines;
  const world = new SimulatedClock();
  const words = createSpokenWords();
  const reports: DurableReport[] = [];
  const live: unknown[] = [];
  const segments: RecordingSegment[] = [];
  const flightLog: Uint8Array[] = [];
  const requests: ChatRequest[] = [];
  const emotions: unknown[] = [];
  const voices: (string | null)[] = [];
  /** May be changed before the model is asked. */
  const reply: ChatDelta[] = [{ type: 'text', text: 'Fine, thank you.' }];
  const asked: { readonly text: string; readonly isFixed: boolean | undefined }[] = [];
  let toolVariables = (): Variables => ({});
  const model: LanguageModel = {
    id: 'test/model',
    isCustom: false,
    async *stream(request) {
      requests.push(request);
      yield* reply;
      yield { type: 'finish', usage: { inputTokens: 7, outputTokens: 4, cachedInputTokens: null } };
    },
  };
  const clock = world.forCall();
  const call = startCall({
    plan: { ...plan, variables: { name: 'Ann' } },
    clock,
    logger: pino({ level: 'silent' }),
    random: () => 0.5,
    ...others,
    synthesizer: {
      id: 'test',
      voices: [],
      async *synthesise(text, { emotion, isFixed, voiceId }) {
        asked.push({ text, isFixed });
        emotions.push(emotion);
        voices.push(voiceId);
        for (const match of text.matchAll(/\S+/g)) {
          const word = {
            textStart: match.index,
            textEnd: match.index + match[0].length,
            startMs: 0,
            endMs: 0,
          };
          const number = words.add(match[0], 200);
          const position = text.slice(0, word.textEnd).split(' ').length;
          yield {
            samples: new Int16Array(200).fill(number),
            sampleRateHz: SIMULATED_RATE_HZ,
            words: [{ ...word, startMs: (position - 1) * 200, endMs: position * 200 }],
          };
        }
      },
    },
    model,
    knowledge,
    failoverState,
    createTools: (link) => {
      toolVariables = link.variables;
      return {
        runner: {
          definitions: [],
          traits: () => null,
          run: () => Promise.reject(new Error('no tools here')),
          close: () => undefined,
        },
        settle: null,
      };
    },
    report: (report) => reports.push(report),
    live: (event) => live.push(event),
    saveRecording: (segment) => segments.push(segment),
    saveFlightLog: ({ bytes }) => flightLog.push(bytes),
  });
  const openLeg = (kind: Leg['kind'] = 'rtp') => {
    const leg = new SimulatedLeg({ clock: world, words, latencyMs: 1, kind });
    call.attach(leg);
    leg.emit({ type: 'connected', atMs: world.now() });
    return leg;
  };
  const run = (ms: number) => world.run(() => false, world.now() + ms);
  const messages = () =>
    reports
      .flatMap((report) => (report.type === 'items' ? report.items : []))
      .flatMap((item) => (item.type === 'message' ? [`${item.role}: ${item.content}`] : []));
  return {
    call,
    clock,
    world,
    reports,
    live,
    segments,
    flightLog,
    requests,
    emotions,
    voices,
    reply,
    asked,
    openLeg,
    run,
    messages,
    toolVariables: () => toolVariables(),
  };
}
