/**
 * Carries out the turn machine's effects for one call: recogniser, model, synthesis, playout, tools, timers,
 * reports. All events pass one ordered queue, are written to the flight log, and then given to the machine;
 * none overtakes another.
 */

import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';
import type { RecognitionEvent, Recognizer, Synthesizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { parseClientEvent } from '#protocol/session-events.ts';
import type { EndReason } from '#protocol/session-record.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import { nameless, type Within } from '../../event-loop/session-attribution.ts';
import type { CallKnowledge } from '../../knowledge/knowledge-search.ts';
import type { LanguageModel } from '../../llm/llm.ts';
import { mayPressKeys } from '../../tools/press-keys.ts';
import type { TurnConfig, VariableTexts } from '../machine/turn-config.ts';
import type { Effect } from '../machine/turn-effects.ts';
import type { TurnFact, TurnInput } from '../machine/turn-inputs.ts';
import { type StepResult, step } from '../machine/turn-machine.ts';
import { initialState, type TurnState } from '../machine/turn-state.ts';
import { ChatRequests, type OfferedTools } from './chat-requests.ts';
import { clientFact } from './client-fact.ts';
import { fixedTexts } from './fixed-texts.ts';
import type { FlightLog } from './flight-log.ts';
import { HeldKeys } from './held-keys.ts';
import { legCommand } from './leg-command.ts';
import { LineSounds } from './line-sounds.ts';
import { RecognitionFeed } from './recognition-feed.ts';
import { ReplyRunner } from './reply-runner.ts';
import { type CallTools, RunningTools } from './running-tools.ts';
import { SoundLog } from './sound-log.ts';
import { admittedText, keytermsOf, voiceOf } from './speech-settings.ts';
import { TurnReports } from './turn-reports.ts';
import { TurnTimers } from './turn-timers.ts';

/** Dependencies of a turn loop. */
export interface TurnLoopOptions {
  readonly plan: CallPlan;
  readonly config: TurnConfig;
  readonly stablePrompt: string;
  readonly offeredTools: () => OfferedTools;
  /** Null without anything to search. */
  readonly knowledge: CallKnowledge | null;
  readonly tools: CallTools;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recognizer: Recognizer | null;
  readonly synthesizer: Synthesizer;
  /** Says the message for mailboxes in place of the synthesizer; null or absent: none does. */
  readonly recordedVoicemail?: Synthesizer | null;
  readonly model: LanguageModel;
  readonly flightLog: FlightLog;
  /** Runs the call's work under its name; absent when work is not attributed. */
  readonly within?: Within | undefined;
  readonly report: (report: DurableReport) => void;
  readonly live: (event: Record<string, unknown>) => void;
  /** Sets a dynamic variable; returns the texts that use it, rendered again. */
  readonly setVariable: (
    name: string,
    value: string,
  ) => { readonly stablePrompt: string; readonly texts: VariableTexts };
  /** Requests a transfer; facts about it return through `accept`. */
  readonly onTransfer: (wish: Extract<Effect, { do: 'transfer' }>) => void;
  readonly onStopTransfer: () => void;
  /** A colleague took the call over, or returned it to the agent. */
  readonly onColleague: (isTheirs: boolean) => void;
  readonly onHangUp: (reason: EndReason) => void;
  /** The machine or the loop threw: a programming error. */
  readonly onBroken: (error: unknown) => void;
  /** Observes every step of the machine. */
  readonly onStep?: (input: TurnInput, step: StepResult) => void;
}

/** Wide-band, until a leg names its rate. */
const USUAL_RATE_HZ = 24_000;
const TELEPHONE_RATE_HZ = 8_000;

/** One call's turn loop. */
export class TurnLoop {
  readonly #options: TurnLoopOptions;
  readonly #queue: TurnFact[] = [];
  readonly #timers: TurnTimers;
  readonly #replies: ReplyRunner;
  readonly #feed: RecognitionFeed | null;
  readonly #abort = new AbortController();
  readonly #sounds = new SoundLog();
  readonly #keys: HeldKeys;
  readonly #tools: RunningTools;
  readonly #reports: TurnReports;
  #state: TurnState;
  readonly #requests: ChatRequests;
  readonly #line = new LineSounds();
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
    const { clock, config, live, logger, plan, recognizer, report } = options;
    const { recordedVoicemail: recorded = null } = options;
    this.#keys = new HeldKeys(plan);
    const pressesKeys = mayPressKeys(plan);
    this.#timers = new TurnTimers(clock, (name, atMs) => {
      // A platform timer may fire a fraction of a millisecond early; the machine gets the time it asked for.
      this.#lastMs = Math.max(this.#lastMs, atMs);
      this.accept({ type: 'timer.fired', name });
    });
    this.#tools = new RunningTools({
      runner: options.tools.runner,
      mayPressKeys: pressesKeys,
      signal: this.#abort.signal,
      accept: (fact) => this.accept(fact),
      onBroken: options.onBroken,
    });
    this.#reports = new TurnReports({
      clock,
      logger,
      hasToolEvents: plan.tool_events,
      report,
      live,
      sendMessage: (json) => this.#leg?.send({ do: 'sendMessage', json }),
      takeRetrieval: (turnId) => this.#requests.takeRetrieval(turnId),
    });
    const { asr, voice } = plan.config;
    this.#replies = new ReplyRunner({
      model: options.model,
      within: options.within ?? nameless,
      synthesizer: options.synthesizer,
      recorded: recorded && { text: config.voicemail?.message ?? '', voice: recorded },
      voice: { ...voiceOf(plan), isExpressive: voice.expressive },
      outRateHz: () => this.#outRateHz,
      isFixed: fixedTexts(plan),
      request: (run, signal) => this.#requests.build(run, signal),
      traits: (toolName) => this.#tools.traits(toolName),
      keys: pressesKeys ? this.#keys : null,
      accept: (fact) => this.accept(fact),
      send: (command) => this.#leg?.send(command),
      hasLeg: () => this.#leg !== null,
      event: (event) => this.#reports.tellClient(event),
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
   * Opens connections that the first words would otherwise wait for. A browser may join late or never, so for
   * web calls the recogniser waits for the leg.
   */
  #prepareEngines(): void {
    const { plan, synthesizer } = this.#options;
    const isPhone = plan.channel !== 'web_voice';
    synthesizer.prepare?.({ ...voiceOf(plan), sampleRateHz: isPhone ? TELEPHONE_RATE_HZ : USUAL_RATE_HZ });
    if (isPhone) this.#feed?.prepare(TELEPHONE_RATE_HZ);
  }

  /** Sets the leg to speak and listen on; replaces an earlier one. */
  setLeg(leg: Leg): void {
    if (this.#leg !== null) this.loseLeg();
    this.#leg = leg;
    this.#outRateHz = leg.outRateHz;
    if (!this.#hasBegun) this.#feed?.prepare(leg.inRateHz);
    this.accept({ type: this.#hasBegun ? 'leg.replaced' : 'call.started' });
    this.#hasBegun = true;
    this.#replies.joinLeg();
  }

  /** The leg broke; another one may follow. */
  loseLeg(): void {
    this.#leg = null;
    this.accept({ type: 'leg.lost' });
    this.#replies.leaveLeg();
  }

  /** Handles an event of the current leg. */
  onLegEvent(event: LegEvent): void {
    switch (event.type) {
      case 'connected':
        this.accept({ type: 'call.connected' });
        break;
      case 'audio':
        this.#onAudio(event.samples, this.#leg?.inRateHz ?? TELEPHONE_RATE_HZ);
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
      case 'digits.sent':
        this.accept({ type: 'keys.sent', pressId: event.pressId });
        break;
      case 'message':
        this.#onMessage(event.text);
        break;
      case 'closed':
        this.accept({ type: 'leg.closed', reason: event.reason });
        this.#replies.leaveLeg();
        break;
      case 'away':
        this.accept({ type: 'leg.lost' });
        break;
      case 'back':
        this.accept({ type: 'call.connected' });
        break;
      case 'recording':
      case 'relayed':
      case 'media':
      case 'stream.released':
        return;
      default:
        this.#replies.onPlayout(event);
        break;
    }
  }

  /** Queues a fact; it is handled at once unless another one is in progress. */
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

  /** Releases everything; no effect is carried out afterwards. */
  close(): void {
    if (this.#isClosed) return;
    this.#replies.close();
    this.#isClosed = true;
    this.#feed?.close();
    this.#abort.abort(new Error('the call has ended'));
    this.#options.tools.runner.close();
    this.#options.knowledge?.close();
    this.#timers.stopAll();
  }

  #take(fact: TurnFact): void {
    this.#lastMs = Math.max(this.#lastMs, this.#options.clock.now());
    const input: TurnInput = { ...fact, atMs: this.#lastMs };
    this.#options.flightLog.write(input);
    const taken = step(this.#state, input);
    const { state, effects } = taken;
    this.#state = state;
    this.#options.onStep?.(input, taken);
    this.#reports.reportSounds(this.#sounds.observe(input, effects));
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: Effect): void {
    switch (effect.do) {
      case 'startTimer':
      case 'stopTimer':
        this.#timers.carryOut(effect);
        break;
      case 'watchVoice':
      case 'pause':
      case 'resume':
      case 'pressKeys':
      case 'dropKeys':
        this.#leg?.send(legCommand(effect, this.#keys));
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
      case 'release':
      case 'holdBack':
      case 'discard':
      case 'clear':
        this.#replies[effect.do](effect.replyId);
        break;
      case 'runTool':
        this.#tools.run(effect.call);
        break;
      case 'cancelTool':
        this.#tools.cancel(effect.callId);
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
      case 'hangUp':
        this.#options.onHangUp(effect.reason);
        break;
      default:
        this.#reports.tell(effect);
        break;
    }
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

  #onAudio(samples: Int16Array, rateHz: number): void {
    this.#feed?.write(samples, rateHz);
    for (const fact of this.#line.listen(samples, rateHz, this.#state)) this.accept(fact);
  }

  #onMessage(text: string): void {
    const message = parseClientEvent(text);
    const fact = message && clientFact(message);
    if (fact) this.accept(fact);
    else if (message?.type === 'client_tool.result') this.#options.tools.settle?.(message);
  }

  #setVariable(name: string, value: string): void {
    const { stablePrompt, texts } = this.#options.setVariable(name, value);
    this.#requests.stablePrompt = stablePrompt;
    this.accept({ type: 'variables.changed', ...texts });
  }
}
