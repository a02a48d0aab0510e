/**
 * A write-only credential is sent only to the host it was given for. Otherwise a user who may change the
 * address could have it sent to their own host. Pure.
 */

/** True if an address changes its host, port or scheme: its credential must then be deleted. */
export function isOtherHost(before: string, after: string): boolean {
  return placeOf(before) !== placeOf(after);
}

/**
 * The origin of a URL. A URL with placeholders in its host, and the address of a trunk, are compared as a
 * whole.
 */
function placeOf(address: string): string {
  const [front = ''] = address.includes('{{')
    ? (/^https?:\/\/[^/?#\\{}]+(?=[/?#])/i.exec(address) ?? [])
    : [address];
  return /^https?:/i.test(front) && URL.canParse(front) ? new URL(front).origin : address.toLowerCase();
}
