import type { PlannedLine } from '#protocol/call-plan.ts';
import type { DialLine } from '#telephony/signalling.ts';

/** Converts the account of a plan to that of a dial. */
export function dialLine(line: PlannedLine | undefined): DialLine | undefined {
  if (!line) return undefined;
  const { from_user, from_host, contact_place, next_hop, routes, server } = line;
  const account = { fromUser: from_user, fromHost: from_host, contactPlace: contact_place };
  return { ...account, nextHop: next_hop, routes, server };
}
