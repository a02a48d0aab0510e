/**
 * One call from its plan to its end. Connects the turn loop to its leg and its reports, and reports how the
 * call ended; the turn machine chooses most end reasons. The worker creates it with a plan and the call's
 * engines; it owns no socket.
 */

import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Variables } from '#config/agent-config.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';
import type { Recognizer, Synthesizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { AgentEvent } from '#protocol/session-events.ts';
import type { EndReason, MediaQuality } from '#protocol/session-record.ts';
import type { DurableReport, FailoverState } from '#protocol/worker-link.ts';
import type { PlaceCall } from '#telephony/outbound-call.ts';
import { nameless, type Within } from '../event-loop/session-attribution.ts';
import type { CallKnowledge } from '../knowledge/knowledge-search.ts';
import type { LanguageModel } from '../llm/llm.ts';
import { stablePrompt } from '../prompt/prompt.ts';
import { builtInTools } from '../tools/call-tools.ts';
import { shownItems } from '../tools/hidden-failure.ts';
import { offeredTools } from '../turn/loop/chat-requests.ts';
import { failoverConfig } from '../turn/loop/failover-config.ts';
import { createFlightLog, type FlightLog } from '../turn/loop/flight-log.ts';
import type { CallTools } from '../turn/loop/running-tools.ts';
import { TurnLoop } from '../turn/loop/turn-loop.ts';
import { transfersBegun } from '../turn/machine/ending/transfer-call.ts';
import { renderedTexts, turnConfig } from '../turn/machine/turn-config.ts';
import type { TurnInput } from '../turn/machine/turn-inputs.ts';
import type { StepResult } from '../turn/machine/turn-machine.ts';
import { renderText } from '../turn/text/variables.ts';
import { type CallRecording, createCallRecording, type RecordingSegment } from './call-recording.ts';
import { CallTransfers } from './call-transfers.ts';
import { type Leaving, leaveForSuccessor } from './leave-for-successor.ts';
import { LeftLeg } from './left-leg.ts';
import { mediaQualityOf } from './media-quality.ts';
import { Participants } from './participants.ts';
import type { PhoneLine, TransferDeps } from './transfer.ts';
import { isoNow, wallTimeOf } from './wall-time.ts';

/** What a call's tools need from the call. */
export interface ToolsLink {
  /** Sends an event to the web client; does nothing on a phone call. */
  send(event: AgentEvent): void;
  /** The call's current variables: a keypad menu may have added one. */
  variables(): Variables;
}

/** Dependencies of a call. */
export interface CallDeps {
  readonly plan: CallPlan;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Null: voice is detected but not transcribed; keypad and typed input work. */
  readonly recognizer: Recognizer | null;
  readonly synthesizer: Synthesizer;
  readonly recordedVoicemail?: Synthesizer | null;
  readonly model: LanguageModel;
  /** Searches knowledge too large for the prompt; null or absent without any. */
  readonly knowledge?: CallKnowledge | null;
  createTools(link: ToolsLink): CallTools;
  /** Runs the call's work under its name; absent when work is not attributed. */
  readonly within?: Within | undefined;
  /** Durable and ordered. `ended` is always the last report. */
  report(report: DurableReport): void;
  /** Not durable: for the console's live view. */
  live(event: Record<string, unknown>): void;
  saveRecording(segment: RecordingSegment): void;
  saveFlightLog(chunk: { readonly index: number; readonly bytes: Uint8Array }): void;
  /** Dials the person a caller is transferred to; null or absent where no call can be placed. */
  readonly placeCall?: PlaceCall | null;
  /** Whether another transfer may begin now, where the plan counts them. Never rejects. Absent means yes. */
  readonly mayTransfer?: () => Promise<boolean>;
  readonly findPhones?: NonNullable<TransferDeps['findPhones']>;
  /**
   * The leg broke and the call waits for another: a room can be rejoined, and a browser reconnects by itself.
   */
  readonly onLegLost?: () => void;
  /** The state of a call that another worker began. */
  readonly failoverState?: FailoverState | null;
  /** Observes every step of the turn machine: input, new state and effects. */
  readonly onStep?: (input: TurnInput, step: StepResult) => void;
}

/** A running call. */
export interface Call {
  /**
   * The first leg joins the call once connected; a later one replaces it, for example after a browser
   * reconnects. `line` is the dialog of a phone's leg.
   */
  attach(leg: Leg, line?: PhoneLine): void;
  /** Rejoins the caller with the person they were talking with when their worker died. */
  rejoin(person: Leg): void;
  /** Colleagues who listen in, or talk in the agent's place. */
  readonly participants: Pick<Participants, 'isEmpty' | 'refusal' | 'join' | 'change'>;
  /**
   * Ends the call from outside: API, drain or end of the worker. Idempotent; the first reason wins. A second
   * request without a goodbye ends it at once.
   */
  end(reason: EndReason, options?: { readonly sayGoodbye?: boolean }): void;
  /**
   * Leaves the call to another worker: speaks no more, sends no BYE and no reports. If this worker offered
   * the call, its leg sends silence until the other worker sends. Idempotent.
   */
  abandon(leaving?: Leaving): void;
  /** The leg that an abandoned call has left. */
  readonly left: Pick<LeftLeg, 'releaseStream' | 'released'>;
  /** Resolves after the last report, or once the call was abandoned. */
  readonly ended: Promise<EndReason>;
}

/** Time for a leg to close and deliver the rest of its recording. */
const CLOSE_WITHIN_MS = 2_000;
/** Time for a browser that lost its connection to return. */
const RECONNECT_WITHIN_MS = 15_000;
/**
 * Time for a browser whose worker died to reach the new one. Together with detection this stays below 20 s.
 */
const RETURN_WITHIN_MS = 10_000;

/** Starts a call, which then waits for its first leg. */
export function startCall(deps: CallDeps): Call {
  return new RunningCall(deps);
}

class RunningCall implements Call {
  readonly ended: Promise<EndReason>;
  readonly participants: Participants;
  readonly left: LeftLeg;
  readonly #settled = Promise.withResolvers<EndReason>();
  readonly #transfers: CallTransfers;
  readonly #deps: CallDeps;
  readonly #loop: TurnLoop;
  readonly #flightLog: FlightLog;
  readonly #recording: CallRecording;
  #leg: Leg | null = null;
  #line: PhoneLine | null = null;
  /** A colleague talks with the caller in place of the agent. */
  #isWithColleague = false;
  /** Where the caller joined last: here, or at the worker before. */
  #joined: 'no' | 'before' | 'here' = 'no';
  /** Reported when the phone's leg closes. */
  #mediaQuality: MediaQuality | null = null;
  #endReason: EndReason | null = null;
  /** When the call ended, if that was before it was noticed. */
  #endedAt: string | null = null;
  /** Since when the caller is out of reach; a call that ends meanwhile ended then. */
  #awayAt: string | null = null;
  /** The end reason once the goodbye requested from outside has been spoken. */
  #goodbyeFor: EndReason | null = null;
  #timer: Timer | null = null;

  constructor(deps: CallDeps) {
    this.#deps = deps;
    this.ended = this.#settled.promise;
    const { clock, plan, random, recognizer, saveFlightLog, saveRecording } = deps;
    const rules = { systemVariables: plan.system_variables, onMissing: plan.config.variables.on_missing };
    let variables = plan.variables;
    const render = (text: string) => renderText(text, { ...rules, variables });
    const ownConfig = turnConfig(plan, recognizer, render);
    const config = deps.failoverState
      ? failoverConfig(ownConfig, {
          ...deps.failoverState,
          items: shownItems(plan.tools, deps.failoverState.items),
        })
      : ownConfig;
    this.#flightLog = createFlightLog({
      sessionId: plan.session_id,
      seed: random(),
      config,
      clock,
      save: saveFlightLog,
    });
    this.#recording = createCallRecording({ isWanted: plan.record_audio, clock, save: saveRecording });
    this.left = new LeftLeg(clock, (event) => this.#recording.add(event));
    this.#transfers = new CallTransfers(
      {
        ...deps,
        tell: (fact) => this.#loop.accept(fact),
        onRecording: (event) => this.#recording.add(event),
      },
      deps.failoverState ? transfersBegun(deps.failoverState.items, ownConfig.transfer) : 0,
    );
    const tools = deps.createTools({
      send: (event) => this.#leg?.send({ do: 'sendMessage', json: JSON.stringify(event) }),
      variables: () => variables,
    });
    const callTools = builtInTools(plan, render);
    this.#loop = new TurnLoop({
      ...deps,
      config,
      stablePrompt: stablePrompt(plan, render),
      tools,
      knowledge: deps.knowledge ?? null,
      offeredTools: () => offeredTools(plan, tools.runner, callTools),
      flightLog: this.#flightLog,
      setVariable: (name, value) => {
        variables = { ...variables, [name]: value };
        return { stablePrompt: stablePrompt(plan, render), texts: renderedTexts(plan, render) };
      },
      onTransfer: (wish) => {
        if (this.#leg) this.#transfers.start(this.#leg, this.#line, wish);
      },
      onStopTransfer: () => void this.#transfers.stop(),
      onColleague: (isTheirs) => {
        this.#isWithColleague = isTheirs;
      },
      onHangUp: (reason) => this.#hangUp(reason),
      onBroken: (error) => this.#onBroken(error),
    });
    this.participants = this.#createParticipants(deps);
    if (!deps.failoverState) return;
    this.#joined = 'before';
    // Unless a leg returns, the call ended when the last one was lost.
    this.#endedAt = deps.failoverState.lost_at;
    this.#timer = clock.after(RETURN_WITHIN_MS, () => this.#hangUp('heartbeat_timeout'));
  }

  #createParticipants({ plan, clock, recognizer, report }: CallDeps): Participants {
    return new Participants({
      plan,
      clock,
      recognizer,
      caller: () => (this.#joined !== 'no' && this.#endReason === null ? this.#leg : null),
      startTakeover: () => {
        this.#loop.accept({ type: 'colleague.took_over' });
        return this.#isWithColleague;
      },
      endTakeover: () => this.#loop.accept({ type: 'colleague.handed_back' }),
      said: (text) => this.#loop.accept({ type: 'colleague.said', text }),
      record: (item) => report({ type: 'items', items: [item] }),
      onRecording: (event) => this.#recording.add(event),
    });
  }

  attach(leg: Leg, line?: PhoneLine): void {
    if (this.#endReason !== null) {
      this.#refuse(leg);
      return;
    }
    const before = this.#leg;
    this.#leg = leg;
    this.#line = line ?? null;
    this.#timer?.cancel();
    this.#loop.setLeg(leg);
    const { within = nameless } = this.#deps;
    leg.listen((events) =>
      within(() => {
        for (const event of events) this.#onLegEvent(leg, event);
      }),
    );
    before?.send({ do: 'close' });
    this.participants.onCallerLeg();
  }

  rejoin(person: Leg): void {
    if (this.#endReason !== null || !this.#leg) this.#refuse(person);
    else this.#transfers.rejoin(this.#leg, person);
  }

  /** A leg that came too late. */
  #refuse(leg: Leg): void {
    if (this.#transfers.isAbandoned) leaveForSuccessor(leg);
    else leg.send({ do: 'close' });
  }

  end(reason: EndReason, options: { readonly sayGoodbye?: boolean } = {}): void {
    if (this.#goodbyeFor !== null && options.sayGoodbye !== true) {
      // The goodbye has used up its time.
      this.#hangUp(this.#goodbyeFor);
      return;
    }
    if (options.sayGoodbye === true) this.#goodbyeFor ??= reason;
    this.#loop.accept({ type: 'end.requested', reason, sayGoodbye: options.sayGoodbye === true });
  }

  abandon(leaving: Leaving = 'taken'): void {
    const reason = this.#endReason ?? 'cancelled';
    this.#endReason = reason;
    this.#timer?.cancel();
    this.#transfers.abandon();
    this.participants.abandon();
    void this.left.leave(this.#leg, leaving).then(() => this.#settled.resolve(reason));
    this.#leg = null;
    this.#loop.close();
    this.#flightLog.close();
    this.#deps.logger.info('another worker has the call; abandoned');
  }

  #onLegEvent(leg: Leg, event: LegEvent): void {
    if (event.type === 'recording') this.#recording.add(event);
    // Late events of a replaced leg are ignored.
    else if (leg !== this.#leg) return;
    else if (event.type === 'closed') this.#onClosed(leg, event);
    else if (event.type === 'relayed') this.participants.onRelayed(event);
    else if (event.type === 'media')
      this.#deps.report({ type: 'media', quality: mediaQualityOf(event.stats) });
    else {
      if (event.type === 'away') this.#awayAt = wallTimeOf(event, this.#deps.clock);
      if (event.type === 'back') this.#awayAt = null;
      if (event.type === 'connected') this.#onConnected();
      if (event.type === 'digit') this.#transfers.press(event.digit);
      this.#loop.onLegEvent(event);
    }
  }

  #onConnected(): void {
    if (this.#joined === 'here') return;
    this.#joined = 'here';
    this.#endedAt = null;
    this.#deps.logger.info('joined');
    this.#deps.report({ type: 'joined', at: isoNow(this.#deps.clock) });
  }

  #onClosed(leg: Leg, event: Extract<LegEvent, { type: 'closed' }>): void {
    if (leg.kind === 'rtp') this.#mediaQuality = mediaQualityOf(event.stats);
    if (this.#endReason !== null) {
      this.#finish(this.#endReason);
      return;
    }
    // The leg is already closed, so the end need not wait for it.
    this.#leg = null;
    const mayComeBack =
      leg.kind !== 'rtp' && event.reason !== 'remote' && (this.#joined !== 'no' || leg.kind !== 'webrtc');
    const closedAt = wallTimeOf(event, this.#deps.clock);
    if (!mayComeBack) {
      this.#endedAt ??= closedAt;
      this.#loop.onLegEvent(event);
      return;
    }
    this.#timer = this.#deps.clock.after(RECONNECT_WITHIN_MS, () => {
      this.#endedAt = closedAt;
      this.#loop.onLegEvent({ ...event, reason: 'media_timeout' });
    });
    this.#loop.loseLeg();
    // If the leg broke during the goodbye, the call is over.
    if (this.#endReason === null) this.#deps.onLegLost?.();
  }

  /** Closes the leg, which delivers the rest of its recording first. */
  #hangUp(reason: EndReason): void {
    if (this.#endReason !== null) return;
    this.#endReason = reason;
    this.#timer?.cancel();
    this.#timer = null;
    if (!this.#leg) {
      this.#finish(reason);
      return;
    }
    if (this.#joined !== 'no')
      this.#leg.send({
        do: 'sendMessage',
        json: JSON.stringify({ type: 'session.ended', reason } satisfies AgentEvent),
      });
    this.#timer = this.#deps.clock.after(CLOSE_WITHIN_MS, () => this.#finish(reason));
    this.#leg.send({ do: 'close' });
  }

  /** The last words of the person on the other leg may still be arriving. */
  #finish(reason: EndReason): void {
    this.#timer?.cancel();
    if (this.#transfers.isIdle && this.participants.isEmpty) {
      this.#complete(reason);
      return;
    }
    const limit = new AbortController();
    const tooLong = this.#deps.clock.sleep(CLOSE_WITHIN_MS, limit.signal).catch(() => undefined);
    const gone = Promise.all([
      this.#transfers.stop(),
      this.participants.close({ type: 'session.ended', reason }),
    ]);
    void Promise.race([gone, tooLong]).then(() => {
      limit.abort();
      this.#complete(reason);
    });
  }

  #complete(reason: EndReason): void {
    this.#loop.close();
    this.#flightLog.close();
    const recording = this.#recording.report();
    if (recording) this.#deps.report(recording);
    if (this.#mediaQuality) this.#deps.report({ type: 'media', quality: this.#mediaQuality });
    this.#deps.report({
      type: 'ended',
      at: this.#endedAt ?? this.#awayAt ?? isoNow(this.#deps.clock),
      end_reason: reason,
    });
    this.#deps.logger.info({ endReason: reason }, 'ended');
    this.#settled.resolve(reason);
  }

  #onBroken(error: unknown): void {
    this.#deps.logger.error({ err: error }, 'the call failed');
    this.#hangUp('internal_error');
  }
}
