/**
 * Decides where audio of a tenant's trunk may be sent: a session description can name any address, including
 * a machine in the operator's own network.
 */
import type { EgressGuard } from '#base/egress.ts';
import type { RtpRemote } from '#media/leg/rtp-remote.ts';

/** Checks a description of the peer before audio is sent to its address. */
export type MediaGuard = (remote: RtpRemote) => RtpRemote;

/** Audio of the operator's own trunks goes to the address they name. */
export const unguarded: MediaGuard = (remote) => remote;

/** A relay's address belongs to the operator: audio goes there, and no tenant sees it. */
export const relayed: MediaGuard = (remote) => ({ ...remote, isRelay: true });

/**
 * An address that is neither public nor allowed gets no audio until it has sent some, as a phone behind NAT
 * does. The source of the signalling is allowed: a peer is there.
 */
export function guardMedia(
  egress: Pick<EgressGuard, 'allowsAddress'>,
  signallingAddress: string | null,
): MediaGuard {
  return (remote) =>
    remote.address === signallingAddress || egress.allowsAddress(remote.address, remote.port)
      ? remote
      : { ...remote, isHeardFirst: true };
}
