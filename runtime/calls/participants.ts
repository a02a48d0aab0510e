/**
 * Colleagues in a call: they hear caller and agent, and one at a time may talk in the agent's place. Their
 * legs may differ in kind and process, so each side's audio is forwarded in 20 ms slots and mixed at the
 * listener.
 */

import type { Clock, Timer } from '#base/clock.ts';
import type { FaultCode } from '#config/errors.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';
import type { Recognizer } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { ParticipantChange } from '#protocol/participants.ts';
import { type AgentEvent, type ParticipantMode, parseClientEvent } from '#protocol/session-events.ts';
import type { ParticipantEvent, SessionItem } from '#protocol/session-record.ts';
import { RecognitionFeed } from '../turn/loop/recognition-feed.ts';
import { leaveForSuccessor } from './leave-for-successor.ts';
import { isoNow } from './wall-time.ts';

/** A colleague, and what they want to do once connected. */
export interface Participant {
  readonly id: string;
  readonly name: string | null;
  readonly mode: ParticipantMode;
}

/** Why a colleague cannot join or make a change. */
export type ParticipantRefusal = Extract<
  FaultCode,
  'not_found' | 'call_taken' | 'call_not_takeable' | 'call_not_running' | 'participants_full'
>;

/** What the colleagues need from the call. */
export interface ParticipantsDeps {
  readonly plan: CallPlan;
  readonly clock: Clock;
  readonly recognizer: Recognizer | null;
  /** The caller's leg; null when there is none. */
  caller(): Leg | null;
  /** Human takeover: asks the agent to yield to a colleague; false when it cannot now. */
  startTakeover(): boolean;
  /** Returns the caller to the agent. */
  endTakeover(): void;
  /** Words of the talking colleague. */
  said(text: string): void;
  record(item: SessionItem): void;
  /** A segment of the talking colleague's audio. */
  onRecording(event: Extract<LegEvent, { type: 'recording' }>): void;
}

/**
 * Most colleagues at once: each costs the mixing of two voices. How many may join over the whole call is the
 * control plane's limit.
 */
const MAX_PARTICIPANTS = 8;
/** Time for an admitted colleague to connect, and to reconnect. */
const CONNECT_MS = 60_000;
/** A failed recogniser is reopened: the first times at once, then after a delay. */
const IMMEDIATE_REOPENINGS = 3;
const REOPEN_AFTER_MS = 2_000;
const FROM_CALLER = 'caller';
const TO_CALLER = 'caller.sent';
const FROM_COLLEAGUE = 'colleague';

interface Member extends Participant {
  leg: Leg;
  isConnected: boolean;
  timer: Timer | null;
  /** Transcribes the talking colleague. */
  feed: RecognitionFeed | null;
}

/** The colleagues of one call. */
export class Participants {
  readonly #deps: ParticipantsDeps;
  readonly #members = new Map<string, Member>();
  #talker: Member | null = null;
  #isOver = false;
  #onEmpty: () => void = () => undefined;

  constructor(deps: ParticipantsDeps) {
    this.#deps = deps;
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  /** Why another colleague cannot join; null when they can. One who is already in may always reconnect. */
  refusal(id: string): ParticipantRefusal | null {
    if (this.#deps.caller() === null) return 'call_not_running';
    return this.#members.size >= MAX_PARTICIPANTS && !this.#members.has(id) ? 'participants_full' : null;
  }

  /** A colleague joins, or returns on another leg. */
  join(participant: Participant, leg: Leg): void {
    const { clock } = this.#deps;
    if (this.#isOver) {
      leg.send({ do: 'close' });
      return;
    }
    const known = this.#members.get(participant.id);
    const before = known?.leg;
    const member = known ?? { ...participant, leg, isConnected: false, timer: null, feed: null };
    member.leg = leg;
    member.timer?.cancel();
    member.timer = clock.after(CONNECT_MS, () => leg.send({ do: 'close' }));
    this.#members.set(member.id, member);
    leg.listen((events) => {
      for (const event of events) this.#onEvent(member, leg, event);
    });
    before?.send({ do: 'close' });
  }

  /**
   * Applies a colleague's request; null on success. A repeated request succeeds and is confirmed again,
   * because a room may lose the first confirmation.
   */
  change(id: string, change: ParticipantChange): ParticipantRefusal | null {
    const member = this.#members.get(id);
    if (!member?.isConnected) return 'not_found';
    if (change === 'leave') member.leg.send({ do: 'close' });
    else if (change === 'listen') this.#endTakeover(member);
    else if (this.#talker === member) this.#tellMode(member);
    else return this.#startTakeover(member);
    return null;
  }

  /** The caller moved to another leg. */
  onCallerLeg(): void {
    if (!this.isEmpty) this.#relayCaller();
  }

  /**
   * One 20 ms slot of the caller's leg: the talking colleague hears the caller, the others hear both sides.
   */
  onRelayed({ voice, sent }: Extract<LegEvent, { type: 'relayed' }>): void {
    const caller = this.#deps.caller();
    if (!caller) return;
    for (const member of this.#members.values()) {
      if (!member.isConnected) continue;
      member.leg.send({ do: 'mix', source: FROM_CALLER, rateHz: caller.inRateHz, samples: voice });
      if (member !== this.#talker)
        member.leg.send({ do: 'mix', source: TO_CALLER, rateHz: caller.outRateHz, samples: sent });
    }
  }

  /**
   * The call is over: every colleague is notified and disconnected. Resolves when no more recording follows.
   */
  close(ended: Extract<AgentEvent, { type: 'session.ended' }>): Promise<void> {
    this.#isOver = true;
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    for (const { leg } of this.#members.values()) {
      leg.send({ do: 'sendMessage', json: JSON.stringify(ended) });
      leg.send({ do: 'close' });
    }
    return this.isEmpty ? Promise.resolve() : empty;
  }

  /** Another worker has the call: the colleagues' clients come back to it by themselves. */
  abandon(): void {
    this.#isOver = true;
    for (const { leg } of this.#members.values()) leaveForSuccessor(leg);
  }

  #onEvent(member: Member, leg: Leg, event: LegEvent): void {
    const isTalking = member === this.#talker;
    if (event.type === 'recording') this.#deps.onRecording(event);
    // Late events of a replaced leg are ignored.
    else if (leg !== member.leg) return;
    else if (event.type === 'connected') this.#onConnected(member);
    else if (event.type === 'closed') this.#onGone(member);
    else if (event.type === 'message' && parseClientEvent(event.text)?.type === 'user.hangup')
      leg.send({ do: 'close' });
    else if (event.type === 'audio') member.feed?.write(event.samples, leg.inRateHz);
    else if (event.type === 'voice.offset') member.feed?.finalise();
    else if (event.type === 'relayed' && isTalking)
      this.#deps
        .caller()
        ?.send({ do: 'mix', source: FROM_COLLEAGUE, rateHz: leg.inRateHz, samples: event.voice });
  }

  #onConnected(member: Member): void {
    member.timer?.cancel();
    member.timer = null;
    const isBack = member.isConnected;
    member.isConnected = true;
    if (!isBack) this.#note(member, 'joined');
    this.#relayCaller();
    if (member === this.#talker) member.leg.send({ do: 'relay', isOn: true });
    // A colleague who cannot take the call now listens, and may ask again.
    const isRefused = isBack || member.mode === 'listen' || this.#startTakeover(member) !== null;
    if (isRefused) this.#tellMode(member);
  }

  #startTakeover(member: Member): ParticipantRefusal | null {
    if (this.#talker) return 'call_taken';
    if (!this.#deps.startTakeover()) return 'call_not_takeable';
    this.#talker = member;
    member.leg.send({ do: 'relay', isOn: true });
    member.feed = this.#openFeed(member);
    this.#note(member, 'took_over');
    this.#tellMode(member);
    return null;
  }

  #endTakeover(member: Member): void {
    if (this.#talker !== member) {
      this.#tellMode(member);
      return;
    }
    this.#stopTalking(member);
    member.leg.send({ do: 'relay', isOn: false });
    this.#note(member, 'handed_back');
    this.#tellMode(member);
    this.#deps.endTakeover();
  }

  #onGone(member: Member): void {
    member.timer?.cancel();
    this.#members.delete(member.id);
    const hadCall = this.#talker === member;
    if (hadCall) this.#stopTalking(member);
    if (member.isConnected) this.#note(member, 'left');
    if (hadCall) this.#deps.endTakeover();
    this.#relayCaller();
    if (this.isEmpty) this.#onEmpty();
  }

  #stopTalking(member: Member): void {
    this.#talker = null;
    member.feed?.close();
    member.feed = null;
  }

  #openFeed(member: Member): RecognitionFeed | null {
    const { clock, plan, recognizer, said } = this.#deps;
    if (!recognizer) return null;
    const { asr, voice } = plan.config;
    let failures = 0;
    const feed: RecognitionFeed = new RecognitionFeed({
      recognizer,
      language: voice.speaking_language,
      multilingual: asr.multilingual,
      keyterms: asr.keyterms,
      onEvent: (event) => {
        if (member.feed !== feed) return;
        if (event.type === 'final') failures = 0;
        if (event.type === 'final' && event.text.trim() !== '') said(event.text.trim());
        // A recogniser that fails for good costs the transcript, not the talk.
        if (event.type !== 'failed' || !event.error.retryable) return;
        failures += 1;
        if (failures <= IMMEDIATE_REOPENINGS) feed.open();
        else clock.after(REOPEN_AFTER_MS, () => member.feed === feed && feed.open());
      },
    });
    feed.open();
    return feed;
  }

  #relayCaller(): void {
    const isOn = [...this.#members.values()].some(({ isConnected }) => isConnected);
    this.#deps.caller()?.send({ do: 'relay', isOn });
  }

  #tellMode(member: Member): void {
    const mode: ParticipantMode = member === this.#talker ? 'take_over' : 'listen';
    member.leg.send({
      do: 'sendMessage',
      json: JSON.stringify({ type: 'participant.mode', mode } satisfies AgentEvent),
    });
  }

  #note({ id, name }: Member, event: ParticipantEvent): void {
    const at = isoNow(this.#deps.clock);
    this.#deps.record({
      type: 'participant',
      participant_id: id,
      name,
      event,
      turn_id: null,
      created_at: at,
    });
  }
}
