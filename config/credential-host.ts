/**
 * Where a write-only credential may go: to the host it was given for. Whoever could move the address and keep
 * the credential could have it sent to themselves. Pure.
 */

/**
 * True when an address means another host, port or scheme than before: what was given for it is to be
 * forgotten.
 */
export function isOtherHost(before: string, after: string): boolean {
  return placeOf(before) !== placeOf(after);
}

/**
 * The origin of a URL. One whose host is not plain before its placeholders are filled, and the address of a
 * trunk, stand for themselves.
 */
function placeOf(address: string): string {
  const [front = ''] = address.includes('{{')
    ? (/^https?:\/\/[^/?#\\{}]+(?=[/?#])/i.exec(address) ?? [])
    : [address];
  return /^https?:/i.test(front) && URL.canParse(front) ? new URL(front).origin : address.toLowerCase();
}
