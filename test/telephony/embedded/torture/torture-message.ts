/** A message of RFC 4475 with the outcome here. */
export interface TortureMessage {
  /** Name of the message in the RFC. */
  readonly name: string;
  /** What is special about it. */
  readonly about: string;
  /** The status of its response, `accepted` for an admitted INVITE, or null if it is not answered. */
  readonly outcome: number | 'accepted' | null;
  readonly text: string;
}

/** Lines as in the RFC; a message that ends with an empty line has no body. */
export function torture(
  name: string,
  about: string,
  outcome: TortureMessage['outcome'],
  text: string,
): TortureMessage {
  return { name, about, outcome, text: text.replace(/^\n/, '').replaceAll('\n', '\r\n') };
}

/** The session description of most messages. */
export function sdp(address: string, timing = '0 0'): string {
  return (
    `v=0\no=mhandley 29739 7272939 IN IP4 ${address}\ns=-\nc=IN IP4 ${address}\nt=${timing}\nm=audio 49217 ` +
    'RTP/AVP 0 12\nm=video 3227 RTP/AVP 31\na=rtpmap:31 LPC\n'
  );
}
