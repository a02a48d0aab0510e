/**
 * Inputs of the mutations: requests and responses of every kind, inside and outside a call, and session
 * descriptions.
 */
import { TORTURE_MESSAGES } from '#test/telephony/embedded/torture/torture-messages.ts';

/** The call to which some of the messages belong. */
export interface FuzzedCall {
  readonly callId: string;
  readonly ourTag: string;
  readonly theirTag: string;
  readonly port: number;
}

const CRYPTO = 'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz|2^20|1:4';

/** Typical offers of phones, PBXs and carriers. */
export const DESCRIPTIONS: readonly Buffer[] = [
  [
    'm=audio 4000 RTP/AVP 0 8 101',
    'a=rtpmap:101 telephone-event/8000',
    'a=fmtp:101 0-16',
    'a=ptime:20',
    'a=sendrecv',
  ],
  ['m=audio 4000 RTP/SAVP 0 101', CRYPTO, 'a=rtpmap:101 telephone-event/8000', 'a=sendrecv'],
  [
    'm=audio 4000 RTP/AVPF 111 9 101 110',
    'a=rtpmap:111 opus/48000/2',
    'a=fmtp:111 useinbandfec=1',
    'a=rtpmap:110 telephone-event/48000',
    'a=rtcp-mux',
  ],
  [
    'm=audio 0 RTP/AVP 18',
    'm=video 5000 RTP/AVP 96',
    'a=rtpmap:96 VP8/90000',
    'm=audio 4002/2 RTP/AVP 3 97 8',
    'c=IN IP6 ::1',
    'a=sendonly',
  ],
].map((lines) =>
  Buffer.from(
    ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0', ...lines, ''].join('\r\n'),
  ),
);

/** Variable parts of a message. */
interface Parts {
  readonly start: string;
  readonly cseq: string;
  readonly branch: string;
  readonly more?: readonly string[];
  readonly body?: string;
}

type Caller = Omit<FuzzedCall, 'ourTag'>;

function message(
  { callId, theirTag, port }: Caller,
  ourTag: string | null,
  { start, cseq, branch, more = [], body = '' }: Parts,
): string {
  return [
    start,
    `Via: SIP/2.0/UDP 127.0.0.1:${port};branch=z9hG4bK-${branch};rport`,
    'Max-Forwards: 70',
    `From: "Caller, A" <sip:+15550101@127.0.0.1>;tag=${theirTag}`,
    `To: <sip:+15550100@127.0.0.1>${ourTag === null ? '' : `;tag=${ourTag}`}`,
    `Call-ID: ${callId}`,
    `CSeq: ${cseq}`,
    `Contact: <sip:caller@127.0.0.1:${port}>`,
    ...more,
    ...(body === '' || more.some((line) => line.startsWith('Content-Type'))
      ? []
      : ['Content-Type: application/sdp']),
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

const requestLine = (method: string) => `${method} sip:+15550100@127.0.0.1 SIP/2.0`;

/** The INVITE that starts a call. */
export function inviteOf(caller: Caller): string {
  return message(caller, null, {
    start: requestLine('INVITE'),
    cseq: '1 INVITE',
    branch: caller.callId,
    body: DESCRIPTIONS[0]?.toString() ?? '',
  });
}

export function ackOf(call: FuzzedCall): string {
  return message(call, call.ourTag, {
    start: requestLine('ACK'),
    cseq: '1 ACK',
    branch: `${call.callId}-ack`,
  });
}

export function byeOf(call: FuzzedCall): string {
  return message(call, call.ourTag, {
    start: requestLine('BYE'),
    cseq: '2147483647 BYE',
    branch: `${call.callId}-bye`,
  });
}

export function optionsOf(caller: Caller): string {
  return message(caller, null, { start: requestLine('OPTIONS'), cseq: '1 OPTIONS', branch: caller.callId });
}

/** Messages in and around `call`; a different `n` gives different transactions. */
export function sipMessages(call: FuzzedCall, n: number): readonly Buffer[] {
  const offer = DESCRIPTIONS[n % DESCRIPTIONS.length]?.toString() ?? '';
  const alone = (start: string, cseq: string, more: readonly string[] = [], body = '') =>
    message({ ...call, callId: `fuzz-${n}`, theirTag: `f${n}` }, null, {
      start,
      cseq,
      branch: `${n}-${cseq.replace(' ', '-')}`,
      more,
      body,
    });
  const within = (start: string, cseq: string, more: readonly string[] = [], body = '') =>
    message(call, call.ourTag, { start, cseq, branch: `${n}-in-${cseq.replace(' ', '-')}`, more, body });
  const request = (method: string, more?: readonly string[], body?: string) =>
    alone(requestLine(method), `1 ${method}`, more, body);
  const inCall = (method: string, more?: readonly string[], body?: string) =>
    within(requestLine(method), `${10 + n} ${method}`, more, body);
  const plain = [
    request(
      'INVITE',
      ['Supported: timer, 100rel', 'Session-Expires: 1800', 'Allow: INVITE, UPDATE', 'X-Account: 7'],
      offer,
    ),
    request(
      'INVITE',
      [
        'Require: 100rel',
        'P-Asserted-Identity: <tel:+15550101>',
        'Privacy: id',
        'Diversion: <sip:+1@h>;reason=busy',
      ],
      offer,
    ),
    request('INVITE'),
    request('OPTIONS'),
    request('CANCEL'),
    request('ACK'),
    request('REGISTER', ['Expires: 60']),
    inCall('BYE'),
    inCall('INVITE', [], offer),
    inCall('UPDATE', ['Session-Expires: 90;refresher=uas', 'Supported: timer'], offer),
    inCall('INFO', ['Content-Type: application/dtmf-relay'], 'Signal=5\r\nDuration=160\r\n'),
    inCall(
      'NOTIFY',
      ['Event: refer', 'Subscription-State: active', 'Content-Type: message/sipfrag'],
      'SIP/2.0 180 Ringing\r\n',
    ),
    inCall('PRACK', ['RAck: 1 1 INVITE']),
    inCall('REFER', ['Refer-To: <sip:+15550102@127.0.0.1>']),
    within('SIP/2.0 200 OK', '1 INVITE', ['Record-Route: <sip:127.0.0.1:5090;lr>'], offer),
    within('SIP/2.0 183 Session Progress', '1 INVITE', ['Require: 100rel', 'RSeq: 1'], offer),
    within('SIP/2.0 491 Request Pending', '1 INVITE'),
  ].map((text) => Buffer.from(text));
  return [...plain, TORTURE[n % TORTURE.length] as Buffer];
}

const TORTURE = TORTURE_MESSAGES.map(({ text }) => Buffer.from(text));
