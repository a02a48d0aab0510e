/**
 * Where the audio of a tenant's trunk may be sent: a session description can name any address, a machine of
 * the operator's own network too.
 */
import type { EgressGuard } from '#base/egress.ts';
import type { RtpRemote } from '#media/leg/leg.ts';

/** What is done with each description of a far end before its audio is sent there. */
export type MediaGuard = (remote: RtpRemote) => RtpRemote;

/** The audio of the operator's own trunks goes where they say. */
export const unguarded: MediaGuard = (remote) => remote;

/**
 * An address that is neither public nor allowed gets nothing before something was heard from it, as a phone
 * behind NAT that names its own is; the one signalling comes from is where somebody is.
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
