/**
 * Carries out the turn machine's effects for one call: recogniser, model, synthesis, playout, tools, timers,
 * reports. Everything that happens comes through one ordered queue, is written to the flight log, and then
 * taken by the machine; nothing overtakes.
 */

import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { AgentConfig } from '#config/agent-config.ts';
import { ToneDetector } from '#media/dsp/tone-detector.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';
import type { RecognitionEvent, Recognizer, Synthesizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { type AgentEvent, type ClientEvent, parseClientEvent } from '#protocol/session-events.ts';
import type { EndReason, SessionItem } from '#protocol/session-record.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import { nameless, type Within } from '../../event-loop/within.ts';
import type { CallKnowledge } from '../../knowledge/knowledge-search.ts';
import { isHangUpCall } from '../../llm/hang-up-call.ts';
import type { LanguageModel, ToolCall, ToolDefinition } from '../../llm/llm.ts';
import { isTransferCall } from '../../tools/call-tools.ts';
import type { ToolRunner } from '../../tools/tool-runner.ts';
import { fixedTexts } from '../machine/fixed-texts.ts';
import { type NotedSilence, SilenceLog } from '../machine/silence-log.ts';
import { type TurnConfig, unsureReachMs, type VariableTexts } from '../machine/turn-config.ts';
import type { Effect, TimelineItem, TurnWaterfall } from '../machine/turn-effects.ts';
import type { TimerName, ToolMode, TurnFact, TurnInput } from '../machine/turn-inputs.ts';
import { type StepResult, step } from '../machine/turn-machine.ts';
import { initialState, type TurnState } from '../machine/turn-state.ts';
import { ChatRequests } from './chat-requests.ts';
import type { FlightLog } from './flight-log.ts';
import { RecognitionFeed } from './recognition-feed.ts';
import { ReplyRunner } from './reply-runner.ts';

/** The tools of a call, as the worker builds them. */
export interface CallTools {
  readonly runner: ToolRunner;
  /** Hands in a web client's `client_tool.result`; null where the call has no web client. */
  readonly settle: ((result: Extract<ClientEvent, { type: 'client_tool.result' }>) => void) | null;
}

/** What a loop is built from. */
export interface TurnLoopOptions {
  readonly plan: CallPlan;
  readonly config: TurnConfig;
  readonly stablePrompt: string;
  readonly toolDefinitions: readonly ToolDefinition[];
  /** Null where there is nothing to search. */
  readonly knowledge: CallKnowledge | null;
  readonly tools: CallTools;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recognizer: Recognizer | null;
  readonly synthesizer: Synthesizer;
  readonly model: LanguageModel;
  readonly flightLog: FlightLog;
  /** What runs the call's work in its name; absent where nobody asks. */
  readonly within?: Within | undefined;
  readonly report: (report: DurableReport) => void;
  readonly live: (event: Record<string, unknown>) => void;
  /** Gives a dynamic variable its value; returns the texts that name it, rendered again. */
  readonly setVariable: (
    name: string,
    value: string,
  ) => { readonly stablePrompt: string; readonly texts: VariableTexts };
  /** The caller is to be handed over; every fact about it comes back through `accept`. */
  readonly onTransfer: (wish: Extract<Effect, { do: 'transfer' }>) => void;
  readonly onStopTransfer: () => void;
  /** A colleague has the call, or the agent has it again. */
  readonly onColleague: (isTheirs: boolean) => void;
  readonly onHangUp: (reason: EndReason) => void;
  /** The machine or the loop broke: a programming error. */
  readonly onBroken: (error: unknown) => void;
  /** Sees every step of the machine, for tests. */
  readonly onStep?: (input: TurnInput, step: StepResult) => void;
}

/** Wide-band until a leg says otherwise. */
const USUAL_RATE_HZ = 24_000;
const TELEPHONE_RATE_HZ = 8_000;

/** One call's turn loop. */
export class TurnLoop {
  readonly #options: TurnLoopOptions;
  readonly #queue: TurnFact[] = [];
  readonly #timers = new Map<TimerName, Timer>();
  readonly #replies: ReplyRunner;
  readonly #feed: RecognitionFeed | null;
  readonly #abort = new AbortController();
  readonly #silences = new SilenceLog();
  readonly #running = new Map<string, AbortController>();
  #state: TurnState;
  readonly #requests: ChatRequests;
  #tones: ToneDetector | null = null;
  #leg: Leg | null = null;
  #hasBegun = false;
  #outRateHz = USUAL_RATE_HZ;
  #isDraining = false;
  #isClosed = false;
  #lastMs = 0;

  constructor(options: TurnLoopOptions) {
    this.#options = options;
    this.#state = initialState(options.config);
    this.#requests = new ChatRequests(options.stablePrompt, { ...options, signal: this.#abort.signal });
    const { plan, recognizer } = options;
    const { asr, voice } = plan.config;
    this.#replies = new ReplyRunner({
      model: options.model,
      within: options.within ?? nameless,
      synthesizer: options.synthesizer,
      voice: { ...voiceOf(plan), isExpressive: voice.expressive },
      outRateHz: () => this.#outRateHz,
      isFixed: fixedTexts(plan),
      request: (run, signal) => this.#requests.build(run, signal),
      traits: (toolName) => traitsOf(toolName, options.tools.runner),
      accept: (fact) => this.accept(fact),
      send: (command) => this.#leg?.send(command),
      hasLeg: () => this.#leg !== null,
      event: (event) => this.#tellClient(event),
      noteUsage: ({ usage, modelId, discardedTokens, turnId }) =>
        options.report({
          type: 'usage',
          turn_id: turnId,
          model: modelId,
          input_tokens: usage?.inputTokens ?? null,
          cached_input_tokens: usage?.cachedInputTokens ?? null,
          output_tokens: usage?.outputTokens ?? null,
          discarded_output_tokens: discardedTokens,
        }),
    });
    const recognition = {
      language: voice.speaking_language,
      multilingual: asr.multilingual || asr.strict_language,
      keyterms: keytermsOf(plan),
    };
    this.#feed = recognizer
      ? new RecognitionFeed({ recognizer, ...recognition, onEvent: (event) => this.#onRecognition(event) })
      : null;
    this.#prepareEngines();
  }

  /**
   * Has connections opened that the first words would wait for. A browser may take its time to come, or
   * never: the recogniser waits for its leg.
   */
  #prepareEngines(): void {
    const { plan, synthesizer } = this.#options;
    const isPhone = plan.channel !== 'web_voice';
    synthesizer.prepare?.({ ...voiceOf(plan), sampleRateHz: isPhone ? TELEPHONE_RATE_HZ : USUAL_RATE_HZ });
    if (isPhone) this.#feed?.prepare(TELEPHONE_RATE_HZ);
  }

  /** The leg to speak and listen on. A second one takes the place of the first. */
  setLeg(leg: Leg): void {
    if (this.#leg !== null) this.loseLeg();
    this.#leg = leg;
    this.#outRateHz = leg.outRateHz;
    if (!this.#hasBegun) this.#feed?.prepare(leg.inRateHz);
    this.accept({ type: this.#hasBegun ? 'leg.replaced' : 'call.started' });
    this.#hasBegun = true;
    this.#replies.joinLeg();
  }

  /** The leg broke, and another one may come. */
  loseLeg(): void {
    this.#leg = null;
    this.accept({ type: 'leg.lost' });
    this.#replies.leaveLeg();
  }

  /** Takes an event of the current leg. */
  onLegEvent(event: LegEvent): void {
    switch (event.type) {
      case 'connected':
        this.accept({ type: 'call.connected' });
        break;
      case 'audio':
        this.#feed?.write(event.samples, this.#leg?.inRateHz ?? 8_000);
        this.#listenForTones(event.samples);
        return;
      case 'voice.onset':
        this.#feed?.setVoice(true);
        this.accept({ type: 'voice.started', speechStartMs: event.atMs });
        break;
      case 'voice.reached':
        this.accept({ type: 'voice.reached', voicedMs: event.voicedMs });
        break;
      case 'voice.offset':
        this.#feed?.setVoice(false);
        this.accept({ type: 'voice.stopped', speechEndMs: event.atMs, voicedMs: event.voicedMs });
        break;
      case 'digit':
        this.accept({ type: 'digit.pressed', digit: event.digit });
        break;
      case 'message':
        this.#onMessage(event.text);
        break;
      case 'closed':
        this.accept({ type: 'leg.closed', reason: event.reason });
        this.#replies.leaveLeg();
        break;
      case 'recording':
      case 'relayed':
        return;
      default:
        this.#replies.onPlayout(event);
        break;
    }
  }

  /** Puts a fact into the queue; it is taken at once unless another one is being taken. */
  accept(fact: TurnFact): void {
    if (this.#isClosed) return;
    this.#queue.push(fact);
    if (this.#isDraining) return;
    this.#isDraining = true;
    const { within = nameless } = this.#options;
    try {
      within(() => {
        for (let next = this.#queue.shift(); next; next = this.#queue.shift()) this.#take(next);
      });
    } catch (error) {
      this.#options.onBroken(error);
    } finally {
      this.#isDraining = false;
    }
  }

  /** Lets go of everything; nothing is carried out afterwards. */
  close(): void {
    if (this.#isClosed) return;
    this.#replies.close();
    this.#isClosed = true;
    this.#feed?.close();
    this.#abort.abort(new Error('the call has ended'));
    this.#options.tools.runner.close();
    this.#options.knowledge?.close();
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  #take(fact: TurnFact): void {
    this.#lastMs = Math.max(this.#lastMs, this.#options.clock.now());
    const input: TurnInput = { ...fact, atMs: this.#lastMs };
    this.#options.flightLog.write(input);
    const taken = step(this.#state, input);
    const { state, effects } = taken;
    this.#state = state;
    this.#options.onStep?.(input, taken);
    const silence = this.#silences.observe(input, effects);
    if (silence) this.#reportSilence(silence);
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: Effect): void {
    switch (effect.do) {
      case 'startTimer':
        this.#startTimer(effect.name, effect.atMs);
        break;
      case 'stopTimer':
        this.#stopTimer(effect.name);
        break;
      case 'watchVoice':
        this.#leg?.send({ ...effect, unsureReachMs: unsureReachMs(effect.reachMs) });
        break;
      case 'pause':
      case 'resume':
        this.#leg?.send(effect);
        break;
      case 'openRecognizer':
        this.#feed?.open();
        break;
      case 'closeRecognizer':
        this.#feed?.close();
        break;
      case 'finalise':
        this.#feed?.finalise();
        break;
      case 'say':
        this.#replies.say(effect);
        break;
      case 'generate':
        this.#replies.generate(effect);
        break;
      case 'commit':
      case 'play':
      case 'hold':
      case 'discard':
      case 'clear':
        this.#replies[effect.do](effect.replyId);
        break;
      case 'runTool':
        this.#runTool(effect.call);
        break;
      case 'cancelTool':
        this.#running.get(effect.callId)?.abort(new Error('the caller interrupted'));
        break;
      case 'transfer':
        this.#options.onTransfer(effect);
        break;
      case 'stopTransfer':
        this.#options.onStopTransfer();
        break;
      case 'yield':
      case 'takeBack':
        this.#options.onColleague(effect.do === 'yield');
        break;
      case 'setVariable':
        this.#setVariable(effect.name, effect.value);
        break;
      default:
        this.#tell(effect);
        break;
    }
  }

  #tell(
    effect: Extract<Effect, { do: 'optOut' | 'record' | 'event' | 'explain' | 'reportTurn' | 'hangUp' }>,
  ): void {
    switch (effect.do) {
      case 'optOut':
        this.#options.report({ type: 'opt_out', by: effect.by });
        break;
      case 'record':
        this.#options.report({ type: 'items', items: this.#timelineItems(effect.item) });
        break;
      case 'event':
        this.#tellClient(effect.event);
        break;
      case 'explain':
        this.#options.logger.debug({ decision: effect.decision }, 'decided');
        this.#options.live({ type: 'decision', ...effect.decision });
        break;
      case 'reportTurn':
        this.#reportTurn(effect.waterfall);
        break;
      case 'hangUp':
        this.#options.onHangUp(effect.reason);
        break;
      default:
        effect satisfies never;
    }
  }

  #reportTurn({ speechEndMs, ...parts }: TurnWaterfall): void {
    const latency = { ...parts, speech_ended_at: this.#isoTime(speechEndMs) };
    this.#options.logger.info(
      { turnId: latency.turn_id, totalMs: latency.total_ms, endpointRule: latency.endpoint_rule },
      'turn',
    );
    this.#options.report({ type: 'turn', latency });
    this.#options.live({ type: 'turn', ...latency });
  }

  #reportSilence({ turnId, fromMs, untilMs, endedBy, causes, decisions }: NotedSilence): void {
    this.#options.report({
      type: 'silence',
      silence: {
        turn_id: turnId,
        started_at: this.#isoTime(fromMs),
        duration_ms: untilMs - fromMs,
        ended_by: endedBy,
        causes,
        decisions: decisions.map(({ about, rule, anchorMs, deadlineMs, atMs, rejected = [] }) => ({
          about,
          rule,
          anchor_at: this.#isoTime(anchorMs),
          deadline_at: this.#isoTime(deadlineMs),
          decided_at: this.#isoTime(atMs),
          rejected: rejected.map((other) => ({
            rule: other.rule,
            deadline_at: this.#isoTime(other.deadlineMs),
            because: other.because,
          })),
        })),
      },
    });
  }

  /** With a turn's first words comes what was looked up for them. */
  #timelineItems(item: TimelineItem): SessionItem[] {
    const recorded = this.#timelineItem(item);
    const retrieval = item.turn_id === null ? null : this.#requests.takeRetrieval(item.turn_id);
    return retrieval ? [recorded, { ...retrieval, created_at: recorded.created_at }] : [recorded];
  }

  #timelineItem({ createdAtMs, ...item }: TimelineItem): SessionItem {
    return { ...item, created_at: this.#isoTime(createdAtMs) } as SessionItem;
  }

  #isoTime(monotonicMs: number): string {
    const { clock } = this.#options;
    return new Date(clock.wallTime() - (clock.now() - monotonicMs)).toISOString();
  }

  #startTimer(name: TimerName, atMs: number): void {
    this.#stopTimer(name);
    const { clock } = this.#options;
    const timer = clock.after(Math.max(0, atMs - clock.now()), () => {
      this.#timers.delete(name);
      // A platform timer may fire a fraction early; the machine is told the time it asked for.
      this.#lastMs = Math.max(this.#lastMs, atMs);
      this.accept({ type: 'timer.fired', name });
    });
    this.#timers.set(name, timer);
  }

  #stopTimer(name: TimerName): void {
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
  }

  #onRecognition(event: RecognitionEvent): void {
    switch (event.type) {
      case 'interim':
        if (!this.#options.plan.config.asr.strict_language)
          this.accept({ type: 'transcript.interim', text: event.text });
        break;
      case 'final':
        this.accept({ type: 'transcript.final', text: admittedText(event, this.#options.plan.config) });
        break;
      case 'finalised':
        this.accept({ type: 'transcript.finalised' });
        break;
      case 'failed':
        this.#options.logger.warn(
          { category: event.error.category, recognizer: this.#options.recognizer?.id },
          'recogniser failed',
        );
        this.accept({ type: 'recognizer.failed', isRetryable: event.error.retryable });
        break;
      default:
        event satisfies never;
    }
  }

  #onMessage(text: string): void {
    const message = parseClientEvent(text);
    switch (message?.type) {
      case 'user.message':
        this.accept({ type: 'user.message', text: message.text, wantsAudio: message.audio !== false });
        break;
      case 'user.activity':
        this.accept({ type: 'user.active' });
        break;
      case 'user.interrupt':
        this.accept({ type: 'user.interrupted' });
        break;
      case 'user.hangup':
        this.accept({ type: 'user.hung_up' });
        break;
      case 'client_tool.result':
        this.#options.tools.settle?.(message);
        break;
      default:
        return;
    }
  }

  #tellClient(event: AgentEvent): void {
    const isToolEvent = event.type.startsWith('tool.');
    if (!isToolEvent || this.#options.plan.tool_events)
      this.#leg?.send({ do: 'sendMessage', json: JSON.stringify(event) });
    this.#options.live({ ...event });
  }

  /** Only while it may still be a machine that answered. */
  #listenForTones(samples: Int16Array): void {
    if (this.#state.screening === null && this.#state.phase.is !== 'voicemail') return;
    this.#tones ??= new ToneDetector(this.#leg?.inRateHz ?? 8_000);
    const tone = this.#tones.push(samples);
    if (tone) this.accept({ type: 'tone.heard', tone });
  }

  #setVariable(name: string, value: string): void {
    const { stablePrompt, texts } = this.#options.setVariable(name, value);
    this.#requests.stablePrompt = stablePrompt;
    this.accept({ type: 'variables.changed', ...texts });
  }

  #runTool(call: ToolCall): void {
    const running = new AbortController();
    this.#running.set(call.callId, running);
    void this.#options.tools.runner
      .run(call, { signal: AbortSignal.any([this.#abort.signal, running.signal]) })
      .finally(() => this.#running.delete(call.callId))
      .then(({ status, output, outputTruncated, error, latencyMs, modelText }) =>
        this.accept({
          type: 'tool.finished',
          callId: call.callId,
          status,
          output,
          outputTruncated,
          error,
          latencyMs,
          modelText,
        }),
      )
      .catch((error: unknown) => this.#options.onBroken(error));
  }
}

function traitsOf(toolName: string, runner: ToolRunner): { mode: ToolMode; source: string } {
  if (isHangUpCall(toolName)) return { mode: 'hang_up', source: 'builtin' };
  if (isTransferCall(toolName)) return { mode: 'transfer', source: 'builtin' };
  return runner.traits(toolName) ?? { mode: 'unknown', source: 'unknown' };
}

/** The agent's voice, as an engine is asked for it. */
function voiceOf({ config: { voice } }: CallPlan) {
  const isDefault = voice.voice_id === '' || voice.voice_id === 'default';
  return {
    voiceId: isDefault ? null : voice.voice_id,
    language: voice.speaking_language,
    speed: voice.speed,
  };
}

/**
 * An agent's own words, and those that end its calls: an engine that hears nothing but keyterms must hear
 * them. Alone they would be all that such an engine hears.
 */
function keytermsOf({ config: { asr }, outreach }: CallPlan): readonly string[] {
  return asr.keyterms.length === 0 ? [] : [...asr.keyterms, ...(outreach?.opt_out?.phrases ?? [])];
}

/** What the agent is told of an utterance it may not understand (asr.strict_language). */
const UNINTELLIGIBLE = '[unintelligible speech]';

/**
 * An utterance's text, unless it was recognised as another language and the agent is strict about its own.
 */
function admittedText(
  { text, language }: Extract<RecognitionEvent, { type: 'final' }>,
  { asr, voice }: AgentConfig,
): string {
  const isForeign =
    asr.strict_language && language !== null && language.split('-')[0] !== voice.speaking_language;
  return isForeign && text.trim() !== '' ? UNINTELLIGIBLE : text;
}
