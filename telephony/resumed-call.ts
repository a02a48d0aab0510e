/**
 * A phone call whose worker died, on a new one: a leg of this worker's own, offered to the other side inside
 * the dialog that stands (RFC 3261 §14.1).
 */
import type { Leg } from '#media/leg/leg.ts';
import type { LegRecording } from '#media/leg/media-host.ts';
import { newSrtpKey } from '#media/rtp/srtp.ts';
import { guardOf, type InboundCallDeps } from './inbound-call.ts';
import { localAddressFor } from './local-address.ts';
import { remoteOf } from './outbound-call.ts';
import { isProtected, type LocalAudio, newSession, offerAudio } from './sdp.ts';
import { type DialogFacts, DialogGone, type Signalling, type SipDialog } from './signalling.ts';
import { createSipLeg } from './sip-leg.ts';

/** What taking a call over needs. */
export interface ResumedCallDeps extends InboundCallDeps {
  readonly signalling: Signalling;
}

/** How it went. */
export type ResumedCall =
  | {
      readonly outcome: 'answered';
      readonly leg: Leg;
      readonly dialog: DialogFacts;
      readonly refer: SipDialog['refer'];
    }
  /**
   * `gone`: the other side has hung up meanwhile. `failed`: it would not change over; it has been hung up on.
   */
  | { readonly outcome: 'gone' | 'failed'; readonly error: unknown };

/** A phone that is still there answers a re-INVITE by itself, within moments. */
const ANSWER_MS = 5_000;
/**
 * Versions of the session description the lost worker may have sent that nobody was told of (RFC 3264 §8: the
 * number only grows).
 */
const VERSION_LEAP = 100;

/** Takes a dialog over; never rejects. Whoever does not answer within `withinMs`, 5 s, is hung up on. */
export async function resumeSipCall(
  deps: ResumedCallDeps,
  facts: DialogFacts,
  options: {
    readonly recording: LegRecording | null;
    readonly isTenants?: boolean;
    readonly withinMs?: number;
  },
): Promise<ResumedCall> {
  let rtp: Leg | null = null;
  try {
    const bound = localAddressFor(deps.relayHost ?? hostOf(facts.remoteTarget), {
      boundHost: deps.sipHost,
      publicIp: undefined,
    });
    const opened = await deps.media.openRtpLeg({
      localAddress: bound,
      remote: null,
      recording: options.recording,
    });
    rtp = opened.leg;
    const local = {
      address: deps.sipPublicIp ?? bound,
      port: opened.localPort,
      ...nextOrigin(facts.localSdp, deps.random),
      ...keysLike(facts.localSdp),
    };
    const dialog = await inTime(
      deps,
      deps.signalling.resume(facts, offerAudio(local)),
      options.withinMs ?? ANSWER_MS,
    );
    // Whoever is there sends, and is heard at once: no address of theirs is believed that was not before.
    const guard = guardOf(deps, options, null);
    rtp.send({ do: 'setRemote', remote: guard(await remoteOf(dialog, local)) });
    const leg = createSipLeg({ clock: deps.clock, dialog, rtp, local, guard });
    return {
      outcome: 'answered',
      leg,
      dialog: dialog.facts,
      refer: (request, listener) => dialog.refer(request, listener),
    };
  } catch (error) {
    rtp?.send({ do: 'close' });
    return { outcome: error instanceof DialogGone ? 'gone' : 'failed', error };
  }
}

/** The dialog; rejects when it is not there in time, and hangs up on one that comes later. */
async function inTime(
  { clock }: ResumedCallDeps,
  resuming: Promise<SipDialog>,
  withinMs: number,
): Promise<SipDialog> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = clock.after(withinMs, () => {
    reject(new Error('the other side did not answer in time'));
    resuming.then((dialog) => dialog.hangUp()).catch(() => undefined);
  });
  try {
    return await Promise.race([resuming, tooLate]);
  } finally {
    timer.cancel();
  }
}

/** Protected media stays protected, with a key of this worker's own. */
function keysLike(localSdp: string): Pick<LocalAudio, 'srtpKey' | 'isSecure'> {
  return { srtpKey: newSrtpKey(), isSecure: isProtected(localSdp) };
}

/** The origin of a description that follows the one sent before. */
function nextOrigin(localSdp: string, random: () => number): Pick<LocalAudio, 'sessionId' | 'version'> {
  const [, sessionId, version] = /^o=\S+ (\d{1,15}) (\d{1,15}) /m.exec(localSdp) ?? [];
  return sessionId === undefined
    ? newSession(random)
    : { sessionId: Number(sessionId), version: Number(version) + VERSION_LEAP };
}

function hostOf(uri: string): string {
  return /^sips?:(?:[^@]*@)?\[?([^\]:;>]+)/i.exec(uri)?.[1] ?? '';
}
