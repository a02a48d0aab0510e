/**
 * An answered dialog as a `Leg`: the RTP leg with SIP around it. A BYE closes the leg and closing it sends
 * BYE; INFO digits and re-INVITEs become events of the leg.
 */
import type { Clock } from '#base/clock.ts';
import type { Leg, LegCommand, LegEvent } from '#media/leg/leg.ts';
import { InfoKeys } from './info-keys.ts';
import { type MediaGuard, unguarded } from './media-guard.ts';
import { answerAudio, type LocalAudio, offerAudio, readAnswer } from './sdp.ts';
import type { DialogFacts, SipDialog } from './signalling.ts';

/** What a leg of a phone call needs. */
export interface SipLegParts {
  readonly clock: Clock;
  readonly dialog: SipDialog;
  readonly rtp: Leg;
  readonly local: LocalAudio;
  /** Called when another SIP server has the dialog. */
  readonly onMoved?: () => void;
  /** The answer to our offer, which arrives in the ACK, describes the peer. */
  readonly isLateOffer?: boolean;
  /** Checks each description of the peer; absent for the operator's trunks. */
  readonly guard?: MediaGuard;
}

/** An answered call. */
export interface AnsweredCall {
  readonly outcome: 'answered';
  readonly leg: Leg;
  /** Its facts now: another SIP server may have taken it over. */
  readonly dialog: DialogFacts;
  readonly refer: SipDialog['refer'];
  /** Sets the only listener for the facts of the dialog when another SIP server has taken it over. */
  onMoved(listener: (dialog: DialogFacts) => void): void;
}

/** The call of an answered dialog and its RTP leg. */
export function answeredCall(parts: Omit<SipLegParts, 'onMoved'>): AnsweredCall {
  const { dialog } = parts;
  let moved: ((dialog: DialogFacts) => void) | null = null;
  return {
    outcome: 'answered',
    leg: createSipLeg({ ...parts, onMoved: () => moved?.(dialog.facts) }),
    get dialog() {
      return dialog.facts;
    },
    refer: (request, listener) => dialog.refer(request, listener),
    onMoved(listener) {
      moved = listener;
    },
  };
}

/** Joins a dialog and its RTP leg. */
export function createSipLeg(deps: SipLegParts): Leg {
  const { clock, dialog, rtp, local, guard = unguarded } = deps;
  let listener: ((events: readonly LegEvent[]) => void) | null = null;
  // A peer that answered, or acknowledged our answer, is present even if it sends no audio.
  const early: LegEvent[] = [{ type: 'connected', atMs: clock.now() }];
  let isRemoteEnd = false;
  let keepsDialog = false;
  let version = local.version;
  // Once protected, our offers stay protected.
  let isSecure = local.isSecure;
  let hasRemote = !(deps.isLateOffer ?? false);
  const silent = Promise.withResolvers<void>();

  const emit = (events: readonly LegEvent[]) => {
    if (listener) listener(events);
    else early.push(...events);
  };

  const keys = new InfoKeys({ clock, dialog, emit, rtp });
  rtp.listen((events) => {
    const news = events.filter((event) => event.type !== 'connected');
    emit(news.map((event) => (event.type === 'closed' ? closed(event) : event)));
  });
  dialog.listen({
    onEnded() {
      isRemoteEnd = true;
      rtp.send({ do: 'close' });
    },
    onOffer(sdp) {
      try {
        const { sdp: answer, remote } = answerAudio(sdp, { ...local, version: version + 1 });
        version += 1;
        isSecure = remote.srtp !== undefined;
        keys.send({ do: 'setRemote', remote: guard(remote) });
        return answer;
      } catch {
        // Unsupported audio: the change is refused and the call continues unchanged.
        return null;
      }
    },
    makeOffer() {
      version += 1;
      return offerAudio({ ...local, isSecure, version });
    },
    onAnswer(sdp) {
      try {
        keys.send({ do: 'setRemote', remote: guard(readAnswer(sdp, { ...local, isSecure })) });
        hasRemote = true;
      } catch {
        // Without an answer there is no peer: the call is over. A failed change leaves the call as it was.
        if (!hasRemote) rtp.send({ do: 'close' });
      }
    },
    onInfo({ contentType, body }) {
      const digit = digitOf(contentType, body);
      if (digit) emit([{ type: 'digit', atMs: clock.now(), ...digit, source: 'info' }]);
    },
    onMoved: () => deps.onMoved?.(),
  });

  /**
   * The RTP leg closes with `local` if a BYE of either side made us close it; after a dead stream we send
   * BYE.
   */
  function closed(event: Extract<LegEvent, { type: 'closed' }>): LegEvent {
    silent.resolve();
    if (isRemoteEnd) return { ...event, reason: 'remote' };
    if (!keepsDialog) void dialog.hangUp();
    return event;
  }

  return {
    id: rtp.id,
    kind: rtp.kind,
    inRateHz: rtp.inRateHz,
    outRateHz: rtp.outRateHz,
    originMs: rtp.originMs,
    send(command: LegCommand) {
      keepsDialog ||= command.do === 'close' && command.keepsDialog === true;
      // At once: signalling must not move the dialog back when its connection returns.
      if (keepsDialog) dialog.leave(silent.promise);
      // A telephone displays nothing: captions and states, several a second, would only wake the media
      // thread.
      if (command.do === 'sendMessage') return;
      keys.send(command);
    },
    listen(next) {
      listener = next;
      if (early.length > 0) next(early.splice(0));
    },
  };
}

/** Digits in INFO: `application/dtmf-relay` (Signal=5, Duration=160) and `application/dtmf` (5). */
function digitOf(contentType: string, body: string): { digit: string; durationMs: number } | null {
  const type = contentType.split(';')[0]?.trim().toLowerCase();
  if (type === 'application/dtmf') {
    const digit = /^\s*([0-9*#A-Da-d])\s*$/.exec(body)?.[1];
    return digit === undefined ? null : { digit: digit.toUpperCase(), durationMs: 0 };
  }
  if (type !== 'application/dtmf-relay') return null;
  const digit = /^[ \t]*Signal[ \t]*=[ \t]*([0-9*#A-Da-d])[ \t]*$/im.exec(body)?.[1];
  const duration = /^[ \t]*Duration[ \t]*=[ \t]*(\d{1,5})[ \t]*$/im.exec(body)?.[1];
  return digit === undefined ? null : { digit: digit.toUpperCase(), durationMs: Number(duration ?? 0) };
}
