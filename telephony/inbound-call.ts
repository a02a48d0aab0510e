/**
 * The worker's side of an inbound phone call: sends 180 at once, answers when the agent is ready, and returns
 * a leg of the answered dialog. It knows nothing of agents: its caller decides when to answer and whether to
 * record.
 */
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import { Fault } from '#config/errors.ts';
import type { LegFactory } from '#media/leg/leg-factory.ts';
import { newSrtpKey } from '#media/rtp/srtp.ts';
import { localAddressFor } from './local-address.ts';
import { guardMedia, type MediaGuard, relayed, unguarded } from './media-guard.ts';
import { answerAudio, newSession, offerAudio, readRemote } from './sdp.ts';
import { type IncomingInvite, InviteCancelled } from './signalling.ts';
import { type AnsweredCall, answeredCall } from './sip-leg.ts';

/** What answering needs. */
export interface InboundCallDeps {
  readonly clock: Clock;
  readonly media: LegFactory;
  /** The address the program listens on, and the one to write into SDP if it differs. */
  readonly sipHost: string;
  readonly sipPublicIp: string | undefined;
  /** The media relay that audio passes first, if there is one. */
  readonly relayHost?: string | undefined;
  /** Our offers over TLS use protected media (SRTP) unless this is false. */
  readonly offersSrtp?: boolean;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Where audio of tenants' trunks may be sent; if absent, only to addresses that have sent audio. */
  readonly egress?: EgressGuard;
}

/** What the agent decides about a call once it is ready. */
export interface ReadyCall {
  readonly recordAudio: boolean;
  /** The call came through a tenant's own trunk. */
  readonly isTenants?: boolean;
}

/** An answered call, or the reason there is none. */
export type InboundCall =
  | AnsweredCall
  /** The caller hung up first. */
  | { readonly outcome: 'cancelled' }
  /** Refused by us, with this SIP status. */
  | { readonly outcome: 'refused'; readonly status: number };

/**
 * Rings, waits for `ready`, answers and returns the leg. If `ready` rejects, refuses the call with the SIP
 * status of its fault, or 480.
 */
export async function answerInboundCall(
  deps: InboundCallDeps,
  invite: IncomingInvite,
  ready: Promise<ReadyCall>,
): Promise<InboundCall> {
  const cancelled = new Promise<'cancelled'>((resolve) => invite.onCancel(() => resolve('cancelled')));
  // Nothing awaits this promise for a call that is refused here.
  ready.catch(() => undefined);
  try {
    const offer = invite.sdpOffer;
    // An offer that cannot be answered is refused before ringing. Without an offer we make one, and the ACK
    // brings the answer.
    const srtpKey = newSrtpKey();
    const remote = offer === null ? null : readRemote(offer, { srtpKey });
    invite.ring();
    const first = await Promise.race([ready, cancelled]);
    if (first === 'cancelled') return { outcome: 'cancelled' };
    const bound = localAddressFor(remote?.address ?? deps.relayHost ?? invite.sourceAddress, {
      boundHost: deps.sipHost,
      publicIp: undefined,
    });
    const guard = guardOf(deps, first, invite.sourceAddress);
    const { leg: rtp, localPort } = await deps.media.openRtpLeg({
      localAddress: bound,
      remote: remote && guard(remote),
      recording: first.recordAudio ? { firstSegment: 0 } : null,
    });
    const local = {
      address: deps.sipPublicIp ?? bound,
      port: localPort,
      ...newSession(deps.random),
      srtpKey,
      isSecure: remote ? remote.srtp !== undefined : invite.isOverTls && deps.offersSrtp !== false,
    };
    const dialog = await invite
      .answer(offer === null ? offerAudio(local) : answerAudio(offer, local).sdp)
      .catch((error: unknown) => {
        rtp.send({ do: 'close' });
        throw error;
      });
    return answeredCall({ clock: deps.clock, dialog, rtp, local, isLateOffer: offer === null, guard });
  } catch (error) {
    return error instanceof InviteCancelled ? { outcome: 'cancelled' } : refuse(invite, error);
  }
}

/** The media relay and the address check of a call. */
export function guardOf(
  { egress, relayHost }: Pick<InboundCallDeps, 'egress' | 'relayHost'>,
  { isTenants = false }: Pick<ReadyCall, 'isTenants'>,
  signallingAddress: string | null,
): MediaGuard {
  if (relayHost !== undefined) return relayed;
  return isTenants ? guardMedia(egress ?? { allowsAddress: () => false }, signallingAddress) : unguarded;
}

function refuse(invite: IncomingInvite, error: unknown): InboundCall {
  const status = error instanceof Fault ? error.sipStatus : 480;
  invite.refuse(status, status === 503 ? { 'Retry-After': '5' } : {});
  return { outcome: 'refused', status };
}
