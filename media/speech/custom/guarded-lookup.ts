/** The resolver of a socket to an address that a tenant chose: every connection passes the egress guard. */
import type { LookupFunction } from 'node:net';
import { isIP } from 'node:net';
import type { EgressGuard } from '#base/egress.ts';

/**
 * For `net.connect` to this port. Fails with `EgressRefused` for a forbidden host. Node does not ask it about
 * literal addresses: `EgressGuard.checkText` refuses those.
 */
export function guardedLookup(egress: Pick<EgressGuard, 'addressesOf'>, port: number): LookupFunction {
  return (host, { all }, callback) => {
    egress.addressesOf(host, port).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first = { address: '', family: 0 }] = found;
        if (all === true) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ''),
    );
  };
}
