/**
 * One call from joined to ended. It joins the turn loop to its leg and its reports, and is the only place
 * that decides an end reason. Called by the worker with a plan and the call's engines; it holds no socket of
 * its own.
 */

import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Variables } from '#config/agent-config.ts';
import type { Leg, LegEvent, LegStats } from '#media/leg/leg.ts';
import type { Recognizer, Synthesizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { AgentEvent } from '#protocol/session-events.ts';
import type { EndReason, MediaQuality } from '#protocol/session-record.ts';
import type { DurableReport, FailoverState } from '#protocol/worker-link.ts';
import { nameless, type Within } from '../event-loop/within.ts';
import type { CallKnowledge } from '../knowledge/knowledge-search.ts';
import type { LanguageModel } from '../llm/llm.ts';
import { stablePrompt } from '../prompt/prompt.ts';
import { hangUpCallTool, transferCallTool } from '../tools/call-tools.ts';
import { shownItems } from '../tools/hidden-failure.ts';
import { createFlightLog, type FlightLog } from '../turn/loop/flight-log.ts';
import type { CallTools } from '../turn/loop/running-tools.ts';
import { TurnLoop } from '../turn/loop/turn-loop.ts';
import { transfersBegun } from '../turn/machine/ending/transfer-call.ts';
import { resumedConfig } from '../turn/machine/resume.ts';
import { renderedTexts, turnConfig } from '../turn/machine/turn-config.ts';
import type { TurnInput } from '../turn/machine/turn-inputs.ts';
import type { StepResult } from '../turn/machine/turn-machine.ts';
import { renderText } from '../turn/text/variables.ts';
import { type CallRecording, createCallRecording, type RecordingSegment } from './call-recording.ts';
import { CallTransfers } from './call-transfers.ts';
import { Participants } from './participants.ts';
import type { PhoneLine, PlaceCall } from './transfer.ts';

/** What the tools of a call need from it. */
export interface ToolsLink {
  /** Carries an event to the web client; does nothing on a phone call. */
  send(event: AgentEvent): void;
  /** The call's variables as they are now: a keypad menu may add one. */
  variables(): Variables;
}

/** Everything a call is built from. */
export interface CallDeps {
  readonly plan: CallPlan;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Null: voice is heard but not understood; keypad and typed input work. */
  readonly recognizer: Recognizer | null;
  readonly synthesizer: Synthesizer;
  readonly model: LanguageModel;
  /** Knowledge too large for the prompt; null, or absent, where there is none. */
  readonly knowledge?: CallKnowledge | null;
  createTools(link: ToolsLink): CallTools;
  /** What runs this call's work in its name; absent where nobody asks. */
  readonly within?: Within | undefined;
  /** Durable, in order. `ended` is always the last. */
  report(report: DurableReport): void;
  /** Droppable: for the console's live view. */
  live(event: Record<string, unknown>): void;
  saveRecording(segment: RecordingSegment): void;
  saveFlightLog(chunk: { readonly index: number; readonly bytes: Uint8Array }): void;
  /** Calls the person a caller is transferred to; null or absent where no call can be placed. */
  readonly placeCall?: PlaceCall | null;
  /**
   * Says whether one more transfer may begin now, where the plan counts them; never rejects. Absent: it may.
   */
  readonly mayTransfer?: () => Promise<boolean>;
  /**
   * The leg broke, and the call waits for another one: a room can be joined again, a browser comes back by
   * itself.
   */
  readonly onLegLost?: () => void;
  /** What the call has been so far, where another worker began it. */
  readonly failoverState?: FailoverState | null;
  /**
   * Sees every step of the turn machine, for tests: what happened, the state it led to, and what came of it.
   */
  readonly onStep?: (input: TurnInput, step: StepResult) => void;
}

/** A running call. */
export interface Call {
  /**
   * The first leg joins the call once it is connected; another one replaces it (a browser that reconnected).
   * `line` is the dialog behind a phone's.
   */
  attach(leg: Leg, line?: PhoneLine): void;
  /** Joins its caller again with the person they talked with when its worker died. */
  rejoin(person: Leg): void;
  /** Colleagues who hear it, or talk in the agent's place. */
  readonly participants: Pick<Participants, 'refusal' | 'join' | 'change'>;
  /**
   * Ends it from outside: the API, a drain, the worker's end. Idempotent; the first reason stands. Asked
   * again without a goodbye, it ends at once.
   */
  end(reason: EndReason, options?: { readonly sayGoodbye?: boolean }): void;
  /** Settles after the last report. */
  readonly ended: Promise<EndReason>;
}

/** How long a leg may take to close and to hand over the rest of its recording. */
const CLOSE_WITHIN_MS = 2_000;
/** A browser that lost its connection may come back within this time. */
const RECONNECT_WITHIN_MS = 15_000;
/**
 * A browser whose worker died may come to its successor within this time: a session that cannot be taken over
 * ends within 20 s.
 */
const RETURN_WITHIN_MS = 10_000;

/** Starts a call; it waits for its first leg. */
export function startCall(deps: CallDeps): Call {
  return new RunningCall(deps);
}

class RunningCall implements Call {
  readonly ended: Promise<EndReason>;
  readonly participants: Participants;
  readonly #settled = Promise.withResolvers<EndReason>();
  readonly #transfers: CallTransfers;
  readonly #deps: CallDeps;
  readonly #loop: TurnLoop;
  readonly #flightLog: FlightLog;
  readonly #recording: CallRecording;
  #leg: Leg | null = null;
  #line: PhoneLine | null = null;
  /** A colleague talks with the caller: a human takeover. */
  #isWithColleague = false;
  #hasJoined = false;
  /** Told when the phone's leg closed. */
  #mediaQuality: MediaQuality | null = null;
  #endReason: EndReason | null = null;
  /** When it ended, where that was before anybody could tell. */
  #endedAt: string | null = null;
  /** Why the call ends once the goodbye asked for from outside has been said. */
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
      ? resumedConfig(ownConfig, {
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
    const callTools = [hangUpCallTool(plan.config), transferCallTool(plan, render)].filter(
      (tool) => tool !== null,
    );
    this.#loop = new TurnLoop({
      ...deps,
      config,
      stablePrompt: stablePrompt(plan, render),
      tools,
      knowledge: deps.knowledge ?? null,
      toolDefinitions: [...(plan.config.tools.enabled ? tools.runner.definitions : []), ...callTools],
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
    this.participants = new Participants({
      plan,
      clock,
      recognizer,
      caller: () => (this.#hasJoined && this.#endReason === null ? this.#leg : null),
      startTakeover: () => {
        this.#loop.accept({ type: 'colleague.took_over' });
        return this.#isWithColleague;
      },
      endTakeover: () => this.#loop.accept({ type: 'colleague.handed_back' }),
      said: (text) => this.#loop.accept({ type: 'colleague.said', text }),
      record: (item) => deps.report({ type: 'items', items: [item] }),
      onRecording: (event) => this.#recording.add(event),
    });
    if (!deps.failoverState) return;
    this.#hasJoined = true;
    const { lost_at: lostAt } = deps.failoverState;
    // Nobody came back to it: it ended when it was lost.
    this.#timer = clock.after(RETURN_WITHIN_MS, () => {
      this.#endedAt = lostAt;
      this.#hangUp('heartbeat_timeout');
    });
  }

  attach(leg: Leg, line?: PhoneLine): void {
    if (this.#endReason !== null) {
      leg.send({ do: 'close' });
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
    if (this.#endReason !== null || !this.#leg) {
      person.send({ do: 'close' });
      return;
    }
    this.#transfers.rejoin(this.#leg, person);
  }

  end(reason: EndReason, options: { readonly sayGoodbye?: boolean } = {}): void {
    if (this.#goodbyeFor !== null && options.sayGoodbye !== true) {
      // The goodbye has had its time.
      this.#hangUp(this.#goodbyeFor);
      return;
    }
    if (options.sayGoodbye === true) this.#goodbyeFor ??= reason;
    this.#loop.accept({ type: 'end.requested', reason, sayGoodbye: options.sayGoodbye === true });
  }

  #onLegEvent(leg: Leg, event: LegEvent): void {
    if (event.type === 'recording') this.#recording.add(event);
    // What a replaced leg still tells is no longer about this call.
    else if (leg !== this.#leg) return;
    else if (event.type === 'closed') this.#onClosed(leg, event);
    else if (event.type === 'relayed') this.participants.onRelayed(event);
    else {
      if (event.type === 'connected') this.#onConnected();
      if (event.type === 'digit') this.#transfers.press(event.digit);
      this.#loop.onLegEvent(event);
    }
  }

  #onConnected(): void {
    if (this.#hasJoined) return;
    this.#hasJoined = true;
    this.#deps.logger.info('joined');
    this.#deps.report({ type: 'joined', at: this.#now() });
  }

  #onClosed(leg: Leg, event: Extract<LegEvent, { type: 'closed' }>): void {
    if (leg.kind === 'rtp') this.#mediaQuality = mediaQualityOf(event.stats);
    if (this.#endReason !== null) {
      this.#finish(this.#endReason);
      return;
    }
    // Nothing more comes from it: the end need not wait for it to close.
    this.#leg = null;
    const mayComeBack =
      leg.kind !== 'rtp' && event.reason !== 'remote' && (this.#hasJoined || leg.kind === 'livekit');
    if (!mayComeBack) {
      this.#loop.onLegEvent(event);
      return;
    }
    const { clock } = this.#deps;
    const lostAt = new Date(clock.wallTime() - (clock.now() - event.atMs)).toISOString();
    this.#timer = clock.after(RECONNECT_WITHIN_MS, () => {
      this.#endedAt = lostAt;
      this.#loop.onLegEvent({ ...event, reason: 'media_timeout' });
    });
    this.#loop.loseLeg();
    // A goodbye that broke off with the leg was the end.
    if (this.#endReason === null) this.#deps.onLegLost?.();
  }

  /** The conversation is over: the leg closes, and tells the rest of its recording before it says so. */
  #hangUp(reason: EndReason): void {
    if (this.#endReason !== null) return;
    this.#endReason = reason;
    this.#timer?.cancel();
    this.#timer = null;
    if (!this.#leg) {
      this.#finish(reason);
      return;
    }
    if (this.#hasJoined)
      this.#leg.send({
        do: 'sendMessage',
        json: JSON.stringify({ type: 'session.ended', reason } satisfies AgentEvent),
      });
    this.#timer = this.#deps.clock.after(CLOSE_WITHIN_MS, () => this.#finish(reason));
    this.#leg.send({ do: 'close' });
  }

  /** The last words of a person the caller talked with may still be on their way. */
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
    this.#deps.report({ type: 'ended', at: this.#endedAt ?? this.#now(), end_reason: reason });
    this.#deps.logger.info({ endReason: reason }, 'ended');
    this.#settled.resolve(reason);
  }

  #onBroken(error: unknown): void {
    this.#deps.logger.error({ err: error }, 'the call broke');
    this.#hangUp('internal_error');
  }

  #now(): string {
    return new Date(this.#deps.clock.wallTime()).toISOString();
  }
}

function mediaQualityOf(stats: LegStats): MediaQuality {
  return {
    packets_received: stats.packetsReceived,
    packets_lost: stats.packetsLost,
    packets_sent: stats.packetsSent,
    jitter_ms: stats.jitterMs,
    round_trip_ms: stats.roundTripMs ?? null,
    jitter_buffer_ms: stats.jitterBufferMs ?? null,
    concealed_share: stats.concealedShare ?? null,
    mos: stats.mos ?? null,
  };
}
