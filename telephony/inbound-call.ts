/**
 * The worker's side of an inbound phone call: 180 at once, the answer when the agent is ready, a leg out of
 * the answered dialog. It knows nothing of agents: when to answer, and whether to record, is handed in.
 */
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import { Fault } from '#config/errors.ts';
import type { Leg } from '#media/leg/leg.ts';
import type { MediaHost } from '#media/leg/media-host.ts';
import { newSrtpKey } from '#media/rtp/srtp.ts';
import { localAddressFor } from './local-address.ts';
import { guardMedia, type MediaGuard, unguarded } from './media-guard.ts';
import { answerAudio, newSession, offerAudio, readRemote } from './sdp.ts';
import { type DialogFacts, type IncomingInvite, InviteCancelled, type SipDialog } from './signalling.ts';
import { createSipLeg } from './sip-leg.ts';

/** What answering needs. */
export interface InboundCallDeps {
  readonly clock: Clock;
  readonly media: MediaHost;
  /** Address the program listens on, and the one written into SDP when set. */
  readonly sipHost: string;
  readonly sipPublicIp: string | undefined;
  /** Where the audio goes first, if there is a relay. */
  readonly relayHost?: string | undefined;
  /** Offers of ours over TLS are for protected media (SRTP), unless this is false. */
  readonly offersSrtp?: boolean;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Where the audio of tenants' trunks may go; without it, only where something was heard from. */
  readonly egress?: EgressGuard;
}

/** What is known of a call once its agent is ready. */
export interface ReadyCall {
  readonly recordAudio: boolean;
  /** It came over a tenant's own trunk. */
  readonly isTenants?: boolean;
}

/** An answered call, or why there is none. */
export type InboundCall =
  | {
      readonly outcome: 'answered';
      readonly leg: Leg;
      readonly dialog: DialogFacts;
      readonly refer: SipDialog['refer'];
    }
  /** The caller gave up first. */
  | { readonly outcome: 'cancelled' }
  /** Refused by us, with this SIP status. */
  | { readonly outcome: 'refused'; readonly status: number };

/**
 * Rings, waits for `ready`, answers and returns the leg.
 * A `ready` that rejects refuses the call: with its fault's SIP status, 480 otherwise.
 */
export async function answerInboundCall(
  deps: InboundCallDeps,
  invite: IncomingInvite,
  ready: Promise<ReadyCall>,
): Promise<InboundCall> {
  const cancelled = new Promise<'cancelled'>((resolve) => invite.onCancel(() => resolve('cancelled')));
  // Nobody waits for a call that is refused here.
  ready.catch(() => undefined);
  try {
    const offer = invite.sdpOffer;
    // An offer that cannot be answered is refused before it rings. Without one we make it, and the ACK brings
    // the answer.
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
    const leg = createSipLeg({ clock: deps.clock, dialog, rtp, local, isLateOffer: offer === null, guard });
    return {
      outcome: 'answered',
      leg,
      dialog: dialog.facts,
      refer: (request, listener) => dialog.refer(request, listener),
    };
  } catch (error) {
    return error instanceof InviteCancelled ? { outcome: 'cancelled' } : refuse(invite, error);
  }
}

/** What the audio of a call passes. */
export function guardOf(
  { egress, relayHost }: Pick<InboundCallDeps, 'egress' | 'relayHost'>,
  { isTenants = false }: Pick<ReadyCall, 'isTenants'>,
  signallingAddress: string | null,
): MediaGuard {
  // A relay's own address is the operator's.
  if (relayHost !== undefined) return unguarded;
  return isTenants ? guardMedia(egress ?? { allowsAddress: () => false }, signallingAddress) : unguarded;
}

function refuse(invite: IncomingInvite, error: unknown): InboundCall {
  const status = error instanceof Fault ? error.sipStatus : 480;
  invite.refuse(status, status === 503 ? { 'Retry-After': '5' } : {});
  return { outcome: 'refused', status };
}
