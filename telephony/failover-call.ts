/**
 * Failover of a phone call whose worker died: the new worker offers a leg of its own to the peer, within the
 * existing dialog (RFC 3261 §14.1).
 */
import type { Leg, RestOfSent } from '#media/leg/leg.ts';
import type { LegRecording } from '#media/leg/leg-factory.ts';
import { newSrtpKey } from '#media/rtp/srtp.ts';
import { guardOf, type InboundCallDeps } from './inbound-call.ts';
import { localAddressFor } from './local-address.ts';
import { remoteOf } from './outbound-call.ts';
import { isProtected, type LocalAudio, newSession, offerAudio } from './sdp.ts';
import { type DialogFacts, DialogGone, type Signalling, type SipDialog } from './signalling.ts';
import { type AnsweredCall, answeredCall } from './sip-leg.ts';

/** What failover of a call needs. */
export interface FailoverCallDeps extends InboundCallDeps {
  readonly signalling: Signalling;
}

/** The outcome. */
export type FailoverCall =
  | AnsweredCall
  /** `gone`: the peer has hung up. `failed`: the peer refused the re-INVITE; the call was hung up. */
  | { readonly outcome: 'gone' | 'failed'; readonly error: unknown };

/** A phone still in the call answers a re-INVITE automatically, within moments. */
const ANSWER_TIMEOUT_MS = 5_000;
/**
 * Allowance for versions of the session description that the lost worker sent without reporting them (RFC
 * 3264 §8: the number only grows).
 */
const VERSION_LEAP = 100;

/**
 * Continues a dead worker's dialog on this worker; never rejects. If the peer does not answer within
 * `timeoutMs`, 5 s by default, it is hung up on.
 */
export async function failOverSipCall(
  deps: FailoverCallDeps,
  facts: DialogFacts,
  options: {
    readonly recording: LegRecording | null;
    readonly isTenants?: boolean;
    readonly timeoutMs?: number;
    /** False if nothing of the peer was heard before; true if absent. */
    readonly wasHeard?: boolean;
    /**
     * Takes the rest of the stream that another worker still sends to the peer; null if it sends none. Never
     * rejects. Absent: no other worker sends to the peer.
     */
    readonly takeStream?: (() => Promise<RestOfSent | null>) | undefined;
  },
): Promise<FailoverCall> {
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
      wasHeard: options.wasHeard ?? true,
      awaitsStream: options.takeStream !== undefined,
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
      deps.signalling.failOver(facts, offerAudio(local)),
      options.timeoutMs ?? ANSWER_TIMEOUT_MS,
    );
    // A peer still in the call sends audio and is heard at once; no address becomes trusted that was not
    // before.
    const guard = guardOf(deps, options, null);
    rtp.send({ do: 'setRemote', remote: guard(await remoteOf(dialog, local)) });
    // Before the wait for the former worker: the peer may send a request meanwhile.
    const call = answeredCall({ clock: deps.clock, dialog, rtp, local, guard });
    if (options.takeStream) call.leg.send({ do: 'continueStream', rest: await options.takeStream() });
    return call;
  } catch (error) {
    rtp?.send({ do: 'close' });
    return { outcome: error instanceof DialogGone ? 'gone' : 'failed', error };
  }
}

/** The dialog. Rejects if it is not ready in time; a dialog that is ready later is hung up. */
async function inTime(
  { clock }: FailoverCallDeps,
  dialog: Promise<SipDialog>,
  timeoutMs: number,
): Promise<SipDialog> {
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const timer = clock.after(timeoutMs, () => {
    reject(new Error('the other side did not answer in time'));
    dialog.then((late) => late.hangUp()).catch(() => undefined);
  });
  try {
    return await Promise.race([dialog, tooLate]);
  } finally {
    timer.cancel();
  }
}

/** Protected media stays protected, with a key of this worker. */
function keysLike(localSdp: string): Pick<LocalAudio, 'srtpKey' | 'isSecure'> {
  return { srtpKey: newSrtpKey(), isSecure: isProtected(localSdp) };
}

/** The origin of the next description. */
function nextOrigin(localSdp: string, random: () => number): Pick<LocalAudio, 'sessionId' | 'version'> {
  const [, sessionId, version] = /^o=\S+ (\d{1,15}) (\d{1,15}) /m.exec(localSdp) ?? [];
  return sessionId === undefined
    ? newSession(random)
    : { sessionId: Number(sessionId), version: Number(version) + VERSION_LEAP };
}

function hostOf(uri: string): string {
  return /^sips?:(?:[^@]*@)?\[?([^\]:;>]+)/i.exec(uri)?.[1] ?? '';
}
