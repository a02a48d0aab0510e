/**
 * The worker's side of an outbound phone call: sends an INVITE with our offer, rings until it is answered or
 * times out, and returns a leg of the answered dialog. Early media (announcements, ringing of the far
 * network) is received as described, but never recorded, because the call is not answered yet.
 */
import { isIP } from 'node:net';
import type { Clock } from '#base/clock.ts';
import { type EgressGuard, EgressRefused } from '#base/egress.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';
import type { LegFactory, LegRecording } from '#media/leg/leg-factory.ts';
import type { RtpRemote } from '#media/leg/rtp-remote.ts';
import { newSrtpKey } from '#media/rtp/srtp.ts';
import { guardOf } from './inbound-call.ts';
import { localAddressFor } from './local-address.ts';
import type { MediaGuard } from './media-guard.ts';
import { type LookUpSrv, nextHops } from './next-hops.ts';
import { type LocalAudio, newSession, offerAudio, readAnswer } from './sdp.ts';
import {
  type DialRequest,
  InviteRefused,
  type OutgoingInvite,
  type Signalling,
  type SipDialog,
} from './signalling.ts';
import { readSipUri } from './sip-address.ts';
import { type AnsweredCall, answeredCall } from './sip-leg.ts';
import { tenantHops } from './tenant-hosts.ts';

/** What dialling needs. */
export interface OutboundCallDeps {
  readonly clock: Clock;
  readonly media: LegFactory;
  readonly signalling: Pick<Signalling, 'dial'>;
  /** The address the program listens on, and the one to write into SDP if it differs. */
  readonly sipHost: string;
  readonly sipPublicIp: string | undefined;
  /** The media relay that audio passes first, if there is one. */
  readonly relayHost?: string | undefined;
  /** Offers over TLS use protected media (SRTP) unless this is false. */
  readonly offersSrtp?: boolean;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Looks up names of trunks; if absent, a name is used like an address. */
  readonly lookUpSrv?: LookUpSrv;
  /** Checks hosts that tenants have named; if absent, none is dialled. */
  readonly egress?: EgressGuard;
}

/** Whom to call, and how. */
export interface OutboundCallRequest extends Omit<DialRequest, 'sdpOffer' | 'nextHop'> {
  readonly recording: LegRecording | null;
  /**
   * Set if a tenant named the host. `trunk` is the operator's own trunk; the tenant's host must not be the
   * same.
   */
  readonly guard?: { readonly trunk: string; readonly trusted: readonly string[] } | null;
  /** A phone that has registered here is called where it did so; only its audio is a tenant's. */
  readonly isRegistered?: boolean;
  /** Longest ringing time, ms. */
  readonly ringMs: number;
  /** Receives audio of the far network before the answer; if absent, it is discarded. */
  readonly onEarlyMedia?: (events: readonly LegEvent[]) => void;
}

/** How a dial ended. */
export type OutboundCall =
  | AnsweredCall
  | { readonly outcome: 'busy' | 'no_answer' | 'failed'; readonly error: unknown }
  /** Cancelled through `signal`. */
  | { readonly outcome: 'cancelled' };

/** Places a call. Never rejects. */
export type PlaceCall = (request: OutboundCallRequest, signal: AbortSignal) => Promise<OutboundCall>;

/**
 * Dials; never rejects. If a server of the trunk cannot be reached or takes no calls, tries the next one.
 * `signal` cancels the call while it rings.
 */
export async function dialOutboundCall(
  deps: OutboundCallDeps,
  request: OutboundCallRequest,
  signal: AbortSignal,
): Promise<OutboundCall> {
  let hops: readonly string[];
  try {
    hops = await hopsOf(deps, request);
  } catch (error) {
    return { outcome: 'failed', error };
  }
  const [first = null, ...others] = hops;
  let call = await dialBy(deps, { ...request, nextHop: first }, signal);
  for (const nextHop of others) {
    if (!isOutOfService(call) || signal.aborted) break;
    call = await dialBy(deps, { ...request, nextHop }, signal);
  }
  return call;
}

/** The servers to try; none if the URI itself is used. Throws `EgressRefused`. */
async function hopsOf(
  deps: OutboundCallDeps,
  { toUri, line, guard }: OutboundCallRequest,
): Promise<string[]> {
  const { lookUpSrv, random, egress, sipHost } = deps;
  const first = line?.nextHop ?? toUri;
  if (!guard) {
    const hops = lookUpSrv ? await nextHops(first, { lookUpSrv, random }) : [];
    return hops.length === 0 && first !== toUri ? [first] : hops;
  }
  if (!egress) throw new EgressRefused('not_public', 'Hosts named by tenants cannot be dialled here');
  return tenantHops(first, isIP(sipHost) === 6, { ...guard, egress, lookUpSrv, random });
}

/**
 * Whether to try the next server: after a 503 (RFC 3263 §4.3), which signalling also reports for an
 * unreachable server.
 */
function isOutOfService(call: OutboundCall): boolean {
  return call.outcome === 'failed' && call.error instanceof InviteRefused && call.error.status === 503;
}

async function dialBy(
  deps: OutboundCallDeps,
  request: OutboundCallRequest & Pick<DialRequest, 'nextHop'>,
  signal: AbortSignal,
): Promise<OutboundCall> {
  let rtp: Leg | null = null;
  try {
    const host = readSipUri(request.nextHop ?? request.toUri)?.host ?? '';
    const isTenants = Boolean(request.guard) || request.isRegistered === true;
    const guard = guardOf(deps, { isTenants }, host);
    const bound = localAddressFor(deps.relayHost ?? host, { boundHost: deps.sipHost, publicIp: undefined });
    const opened = await deps.media.openRtpLeg({
      localAddress: bound,
      remote: null,
      recording: request.recording,
    });
    rtp = opened.leg;
    const local: LocalAudio = {
      address: deps.sipPublicIp ?? bound,
      port: opened.localPort,
      ...newSession(deps.random),
      srtpKey: newSrtpKey(),
      isSecure: deps.offersSrtp !== false && isOverTls(request.toUri),
    };
    const invite = deps.signalling.dial({ ...request, sdpOffer: offerAudio(local) });
    const early = listenEarly(rtp, invite, { local, guard, listener: request.onEarlyMedia });
    const end = await ring(deps, invite, { ringMs: request.ringMs, signal });
    if (end === 'cancelled' || end === 'no_answer') {
      rtp.send({ do: 'close' });
      return end === 'cancelled' ? { outcome: end } : { outcome: end, error: null };
    }
    rtp.send({ do: 'setRemote', remote: guard(await remoteOf(end, local, early)) });
    return answeredCall({ clock: deps.clock, dialog: end, rtp, local, guard });
  } catch (error) {
    rtp?.send({ do: 'close' });
    return { outcome: error instanceof InviteRefused ? outcomeOf(error.status) : 'failed', error };
  }
}

/**
 * Waits for the answer; cancels the INVITE on timeout or when it is no longer wanted. Rejects if `answered`
 * rejects.
 */
async function ring(
  deps: Pick<OutboundCallDeps, 'clock'>,
  invite: OutgoingInvite,
  { ringMs, signal }: { readonly ringMs: number; readonly signal: AbortSignal },
): Promise<SipDialog | 'cancelled' | 'no_answer'> {
  const { promise: givenUp, resolve: giveUp } = Promise.withResolvers<'cancelled' | 'no_answer'>();
  const onAbort = () => giveUp('cancelled');
  const timer = deps.clock.after(ringMs, () => giveUp('no_answer'));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const end = await Promise.race([invite.answered, givenUp]);
    if (end === 'cancelled' || end === 'no_answer') {
      invite.cancel();
      // The answer may have crossed the CANCEL.
      invite.answered.then((dialog) => dialog.hangUp()).catch(() => undefined);
    }
    return end;
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', onAbort);
  }
}

/** The source of early media, as last described. */
interface Early {
  sdp: string;
}

/**
 * Makes the leg accept early media, which comes from the network, not from the person called, and ends when
 * the call is answered.
 */
function listenEarly(
  rtp: Leg,
  invite: OutgoingInvite,
  {
    local,
    guard,
    listener,
  }: {
    readonly local: LocalAudio;
    readonly guard: MediaGuard;
    readonly listener: OutboundCallRequest['onEarlyMedia'];
  },
): Early {
  const early: Early = { sdp: '' };
  rtp.listen((events) => listener?.(events));
  invite.onEarlyMedia((sdp) => {
    try {
      rtp.send({ do: 'setRemote', remote: guard(readAnswer(sdp, local)), isEarly: true });
      early.sdp = sdp;
    } catch {
      // Early media in a format we do not support: it rings in silence, and the answer decides.
    }
  });
  return early;
}

/**
 * Where the answer wants its audio. A 200 without a description keeps the previous one. An answer whose audio
 * we do not support ends the call.
 */
export async function remoteOf(
  dialog: SipDialog,
  local: LocalAudio,
  early: Early = { sdp: '' },
): Promise<RtpRemote> {
  try {
    const { remoteSdp } = dialog.facts;
    return readAnswer(remoteSdp.trim() === '' ? early.sdp : remoteSdp, local);
  } catch (error) {
    await dialog.hangUp();
    throw error;
  }
}

/** Maps a refusal to the reason reported for the callee. */
function outcomeOf(status: number): 'busy' | 'no_answer' | 'failed' {
  if (status === 486 || status === 600) return 'busy';
  return status === 408 || status === 480 ? 'no_answer' : 'failed';
}

/** Whether a URI asks for TLS (RFC 3261 §19.1.1, §26.2.2). */
function isOverTls(uri: string): boolean {
  return /^sips:/i.test(uri) || /;transport=tls(?=[;?>]|$)/i.test(uri);
}
