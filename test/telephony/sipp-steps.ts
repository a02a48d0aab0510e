/**
 * Steps of a sipp scenario for callers that send more than INVITE and BYE: each function writes the XML of
 * one message sent or awaited.
 */

/** Parts of a request that differ from the defaults. */
export interface SentRequest {
  readonly cseq: number;
  /** Branch of an INVITE and of its CANCEL or of the ACK for its refusal; a new one when absent. */
  readonly branch?: string;
  /** The next step follows at once; the request is not retransmitted, and its response arrives later. */
  readonly isHasty?: boolean;
  /** Outside a dialog although a response was received before. */
  readonly isFirst?: boolean;
  /** Additional header lines. */
  readonly lines?: readonly string[];
  /** The From address, without the tag. */
  readonly from?: string;
  /** A session description; none when absent. */
  readonly sdp?: string;
}

/** A session description for audio at `port`; `codec` is its payload type, with an rtpmap if needed. */
export function audioAt(port: number, codec = '0 PCMU/8000'): string {
  const [payloadType] = codec.split(' ');
  return [
    'v=0',
    'o=sipp 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio ${port} RTP/AVP ${payloadType}`,
    `a=rtpmap:${codec}`,
    '',
  ].join('\n');
}

/** Sends a request: the first INVITE of the call, or any other request with a peer's tag once known. */
export function send(method: string, request: SentRequest): string {
  const {
    cseq,
    branch = '[branch]',
    isHasty = false,
    isFirst = false,
    lines = [],
    from = '<sip:sipp@[local_ip]:[local_port]>',
    sdp = '',
  } = request;
  const text = [
    `${method} sip:[service]@[remote_ip]:[remote_port] SIP/2.0`,
    `Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=${branch}`,
    `From: ${from};tag=[pid]SIPp[call_number]`,
    `To: <sip:[service]@[remote_ip]:[remote_port]>${isFirst ? '' : '[peer_tag_param]'}`,
    'Call-ID: [call_id]',
    `CSeq: ${cseq} ${method}`,
    'Contact: <sip:sipp@[local_ip]:[local_port];transport=[transport]>',
    'Max-Forwards: 70',
    ...lines,
    ...(sdp === '' ? [] : ['Content-Type: application/sdp']),
    'Content-Length: [len]',
    '',
    sdp,
  ].join('\n');
  // An ACK has no response.
  return `<send${method === 'ACK' || isHasty ? '' : ' retrans="500"'}><![CDATA[\n${text}\n]]></send>`;
}

/** Awaits a final response, skipping provisional ones; it must match all regular expressions in `has`. */
export function expectResponse(status: number, has: readonly string[] = []): string {
  const checks = has.map(
    (regexp, index) => `<ereg regexp="${regexp}" search_in="msg" check_it="true" assign_to="found${index}"/>`,
  );
  const provisional = [100, 180].map((each) => `<recv response="${each}" optional="true"/>`);
  return [
    ...provisional,
    `<recv response="${status}" rrs="true"><action>${checks.join('')}</action></recv>`,
  ].join('\n');
}

/** Awaits a request and answers it 200. */
export function expectRequest(method: string): string {
  const copied = ['Via', 'From', 'To', 'Call-ID', 'CSeq'].map((name) => `[last_${name}:]`);
  const answer = ['SIP/2.0 200 OK', ...copied, 'Content-Length: 0', '', ''].join('\n');
  return `<recv request="${method}"/>\n<send><![CDATA[\n${answer}\n]]></send>`;
}
