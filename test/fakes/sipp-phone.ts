/** A phone or trunk for outbound calls: sipp as the answering side, on its own port, for one call. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freeSippMediaPort, freeUdpPort, untilUdpTaken } from '../free-port.ts';
import type { SippResult } from './sipp.ts';

/** Behaviour of the phone. */
export type PhoneManner =
  /** Answers; the other side hangs up. */
  | { readonly does: 'answer'; readonly digest?: 401 | 407 }
  /** Answers, and hangs up after `afterMs`. */
  | { readonly does: 'hangUp'; readonly afterMs: number }
  /** Answers with unsupported audio; the other side hangs up. */
  | { readonly does: 'answerBadly' }
  /** Its answer crosses the CANCEL; the other side hangs up. */
  | { readonly does: 'answerTooLate' }
  /** Refuses; `from` is a regular expression that the From header must match. */
  | { readonly does: 'refuse'; readonly status: number; readonly from?: string }
  /**
   * Answers, responds to a REFER for `to` with `status`, and sends a NOTIFY for each of `notifies`; the other
   * side hangs up.
   */
  | {
      readonly does: 'refer';
      readonly to: string;
      readonly status: number;
      readonly notifies: readonly number[];
    }
  /**
   * Answers, and takes keys as telephone events, as INFO, or only in the audio; `keys` are the keys of the
   * INFOs that it expects. One that `refuses` lists INFO as allowed and answers it with 415. The other side
   * hangs up.
   */
  | {
      readonly does: 'takeKeys';
      readonly by: 'events' | 'info' | 'audio';
      readonly keys?: string;
      readonly refuses?: boolean;
    }
  /** Sends early media, then answers; the other side hangs up. */
  | { readonly does: 'earlyMedia'; readonly ringMs: number }
  /** Rings until the call is cancelled. */
  | { readonly does: 'ring' };

/** A phone that waits for its call. */
export interface SippPhone {
  /** `host:port` */
  readonly address: string;
  /** Result of the scenario: 0 when every message arrived as expected. */
  readonly ended: Promise<SippResult>;
  /** Ends a phone that received no call. */
  giveUp(): void;
}

const DEADLINE_MS = 60_000;

/**
 * Starts a phone; every INVITE must carry an offer and `X-Service-Session-Id`. Its audio uses `audioPort`,
 * where another program may send and receive.
 */
export async function startSippPhone(manner: PhoneManner, audioPort?: number): Promise<SippPhone> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-phone-'));
  writeFileSync(join(folder, 'phone.xml'), scenario(manner, audioPort));
  const [port, mediaPort] = [await freeUdpPort(), await freeSippMediaPort()];
  const options = [
    '-i',
    '127.0.0.1',
    '-p',
    String(port),
    '-mp',
    String(mediaPort),
    '-m',
    '1',
    '-nostdin',
    '-trace_err',
    '-error_file',
    'errors',
  ];
  const child = spawn('sipp', ['-sf', 'phone.xml', ...options], { cwd: folder });
  let screen = '';
  child.stdout.on('data', (chunk) => (screen += String(chunk)));
  child.stderr.on('data', (chunk) => (screen += String(chunk)));
  const deadline = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
  const ended = once(child, 'exit').then(([code]) => {
    clearTimeout(deadline);
    rmSync(folder, { recursive: true, force: true });
    return { code: code as number | null, screen: screen.slice(-4_000) };
  });
  // A call that arrives before it listens would be lost.
  await untilUdpTaken(port);
  return { address: `127.0.0.1:${port}`, ended, giveUp: () => void child.kill('SIGKILL') };
}

function scenario(manner: PhoneManner, audioPort: number | undefined): string {
  const assigned = [
    'session',
    'offer',
    'from',
    'to',
    'target',
    'cseq',
    ...('digest' in manner ? ['answer'] : []),
    ...(manner.does === 'refer' ? ['referTo'] : []),
    ...(manner.does === 'takeKeys' && manner.keys ? ['key'] : []),
  ];
  const lines = [
    ...steps(manner).map((line) =>
      audioPort === undefined ? line : line.replace('[media_port]', String(audioPort)),
    ),
    `<Reference variables="${assigned.join()}"/>`,
  ];
  return (
    '<?xml version="1.0" encoding="ISO-8859-1" ?>\n<scenario name="a ' +
    `phone">\n${lines.join('\n')}\n</scenario>\n`
  );
}

function steps(manner: PhoneManner): string[] {
  const from = 'from' in manner ? manner.from : undefined;
  const first = 'digest' in manner && manner.digest ? challenged(manner.digest) : [received('INVITE', from)];
  const ringing = [...first, response('100 Trying', { tag: '' }), response('180 Ringing')];
  const hungUpOn = ['<recv request="BYE"/>', response('200 OK', { tag: '' })];
  switch (manner.does) {
    case 'answer':
      return [...ringing, response('200 OK', { sdp: 0 }), '<recv request="ACK"/>', ...hungUpOn];
    case 'answerBadly':
      return [...ringing, response('200 OK', { sdp: 18 }), '<recv request="ACK"/>', ...hungUpOn];
    case 'answerTooLate':
      return [
        ...ringing,
        '<recv request="CANCEL"/>',
        // The order matters: sipp sends one message at a time, and treats an ACK that arrives before the
        // second one as unexpected.
        response('200 OK'),
        response('200 OK', { sdp: 0, cseq: '[$cseq] INVITE' }),
        '<recv request="ACK"/>',
        ...hungUpOn,
      ];
    case 'hangUp':
      return [
        ...ringing,
        response('200 OK', { sdp: 0 }),
        '<recv request="ACK"/>',
        `<pause milliseconds="${manner.afterMs}"/>`,
        sent(`BYE [$target] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From:[$to];tag=phone[call_number]
To:[$from]
Call-ID: [call_id]
CSeq: 1 BYE
Max-Forwards: 70
Content-Length: 0
`),
        '<recv response="200"/>',
      ];
    case 'refuse':
      return [...ringing, response(`${manner.status} Refused`), '<recv request="ACK"/>'];
    case 'refer':
      return [
        ...ringing,
        response('200 OK', { sdp: 0 }),
        '<recv request="ACK"/>',
        `<recv request="REFER"><action><ereg regexp="${manner.to}" search_in="hdr" header="Refer-To:" ` +
          'check_it="true" assign_to="referTo"/></action></recv>',
        response(`${manner.status} Refer`, { tag: '' }),
        ...manner.notifies.flatMap((status, index) => [notify(status, index + 1), '<recv response="200"/>']),
        ...hungUpOn,
      ];
    case 'takeKeys': {
      const { by, keys = '', refuses } = manner;
      return [
        ...ringing,
        response('200 OK', {
          sdp: 0,
          events: by === 'events',
          more: by === 'info' ? 'Allow: INVITE, ACK, BYE, CANCEL, OPTIONS, INFO\n' : '',
        }),
        '<recv request="ACK"/>',
        ...[...keys].flatMap((key) => [
          `<recv request="INFO"><action><ereg regexp="Signal=[${key}]" search_in="body" check_it="true" ` +
            'assign_to="key"/></action></recv>',
          response(refuses ? '415 Unsupported Media Type' : '200 OK', { tag: '' }),
        ]),
        ...hungUpOn,
      ];
    }
    case 'earlyMedia':
      return [
        ...first,
        response('100 Trying', { tag: '' }),
        response('183 Session Progress', { sdp: 0 }),
        `<pause milliseconds="${manner.ringMs}"/>`,
        response('200 OK', { sdp: 0 }),
        '<recv request="ACK"/>',
        ...hungUpOn,
      ];
    case 'ring':
      return [
        ...ringing,
        '<recv request="CANCEL"/>',
        response('200 OK', { tag: '' }),
        response('487 Request Terminated', { cseq: '[$cseq] INVITE' }),
        '<recv request="ACK"/>',
      ];
    default:
      return manner satisfies never;
  }
}

/** Progress of the REFER (RFC 3515 §2.4.5). */
function notify(status: number, cseq: number): string {
  const state = status >= 200 ? 'terminated;reason=noresource' : 'active;expires=60';
  return sent(`NOTIFY [$target] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From:[$to];tag=phone[call_number]
To:[$from]
Call-ID: [call_id]
CSeq: ${cseq} NOTIFY
Contact: <sip:127.0.0.1:[local_port];transport=[transport]>
Max-Forwards: 70
Event: refer
Subscription-State: ${state}
Content-Type: message/sipfrag;version=2.0
Content-Length: [len]

SIP/2.0 ${status} Progress`);
}

function challenged(status: 401 | 407): string[] {
  const [challenge, answer] =
    status === 401 ? ['WWW-Authenticate', 'Authorization'] : ['Proxy-Authenticate', 'Proxy-Authorization'];
  return [
    received('INVITE'),
    response(`${status} Unauthorized`, {
      more: `${challenge}: Digest realm="trunk",nonce="abc",qop="auth",algorithm=MD5\n`,
    }),
    '<recv request="ACK"/>',
    `<recv request="INVITE"><action><ereg regexp='username="parley"' search_in="hdr" header="${answer}:" ` +
      'check_it="true" assign_to="answer"/></action></recv>',
  ];
}

function received(method: string, from = ''): string {
  const header = (name: string, regexp: string, variable: string) =>
    `<ereg regexp="${regexp}" search_in="hdr" header="${name}:" check_it="true" assign_to="${variable}"/>`;
  return `<recv request="${method}"><action>
${header('X-Service-Session-Id', '[0-9a-z]+', 'session')}
${header('Content-Type', 'application/sdp', 'offer')}
${header('From', `.*${from}.+`, 'from')}
${header('To', '.+', 'to')}
${header('Contact', 'sip:[^&gt;]+', 'target')}
${header('CSeq', '[0-9]+', 'cseq')}
</action></recv>`;
}

function sent(text: string): string {
  return `<send retrans="500"><![CDATA[\n${text}\n]]></send>`;
}

/** `sdp` is the payload type of the answer. The CSeq is the INVITE's unless another message is given. */
function response(
  status: string,
  {
    tag = ';tag=phone[call_number]',
    sdp,
    events = false,
    cseq,
    more = '',
  }: { tag?: string; sdp?: number; events?: boolean; cseq?: string; more?: string } = {},
): string {
  const body =
    sdp === undefined
      ? ''
      : 'v=0\no=phone 1 1 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio [media_port] RTP/AVP ' +
        (events ? `${sdp} 101\na=rtpmap:101 telephone-event/8000\n` : `${sdp}\n`);
  return `<send><![CDATA[
SIP/2.0 ${status}
[last_Via:]
[last_From:]
[last_To:]${tag}
[last_Call-ID:]
${cseq === undefined ? '[last_CSeq:]' : `CSeq: ${cseq}`}
Contact: <sip:127.0.0.1:[local_port];transport=[transport]>
${more}${sdp === undefined ? '' : 'Content-Type: application/sdp\n'}Content-Length: [len]

${body}]]></send>`;
}
