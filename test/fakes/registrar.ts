/**
 * A registrar over UDP that answers each request by a script, with the messages that PBXs are known to send.
 */
import { createHash } from 'node:crypto';
import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { header, headerList, parseMessage, type SipMessage } from '#telephony/embedded/message.ts';

/** A final response; its dialog headers are those of the request. */
export interface Reply {
  readonly status: number;
  readonly reason?: string;
  /** Whole header lines. */
  readonly lines?: readonly string[];
  /** Where the registrar says that it saw the request; by default where it came from. */
  readonly seen?: { readonly address: string; readonly port: number };
}

/** Answers a request; `nth` counts those of its method, from 1. */
export type Script = (request: SipMessage, nth: number) => Reply;

/** A running registrar. */
export interface Registrar {
  /** `host:port` */
  readonly address: string;
  readonly requests: readonly SipMessage[];
  /** The requests of a method. */
  of(method: string): SipMessage[];
  /** Replaces the script. */
  use(script: Script): void;
  close(): Promise<void>;
}

/** Starts one on a free port of the loopback. */
export async function startRegistrar(first: Script): Promise<Registrar> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const requests: SipMessage[] = [];
  let script = first;
  const of = (method: string) => requests.filter((request) => methodOf(request) === method);
  socket.on('message', (bytes, from) => {
    const request = parseMessage(bytes.toString());
    if (request?.start.kind !== 'request') return;
    requests.push(request);
    const reply = script(request, of(methodOf(request)).length);
    socket.send(write(request, reply, from), from.port, from.address);
  });
  return {
    address: `127.0.0.1:${socket.address().port}`,
    requests,
    of,
    use: (next) => {
      script = next;
    },
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** Accepts a REGISTER for so many seconds, and echoes its Contact. */
export function accepted(request: SipMessage, seconds: number, more: readonly string[] = []): Reply {
  const contact = (header(request, 'contact') ?? '').replace(/;expires=\d+/i, `;expires=${seconds}`);
  return { status: 200, lines: [`Contact: ${contact}`, ...more] };
}

/** Challenges a request that has no answer, as RFC 3261 does. */
export function challenged(nonce: string, more = ', qop="auth", algorithm=MD5'): Reply {
  return { status: 401, lines: [`WWW-Authenticate: Digest realm="pbx.example", nonce="${nonce}"${more}`] };
}

/** The fields of the credentials of a request; empty without any. */
export function credentialsOf(request: SipMessage, name = 'authorization'): ReadonlyMap<string, string> {
  const fields = (header(request, name) ?? '').matchAll(/(\w+)=(?:"([^"]*)"|([^\s,]+))/g);
  return new Map([...fields].map(([, field = '', quoted, plain]) => [field, quoted ?? plain ?? '']));
}

/** Whether they prove this password by MD5, with `qop=auth`. */
export function proves(request: SipMessage, password: string): boolean {
  const given = credentialsOf(request);
  const md5 = (...parts: (string | undefined)[]) => createHash('md5').update(parts.join(':')).digest('hex');
  const secret = md5(given.get('username'), given.get('realm'), password);
  const action = md5(methodOf(request), given.get('uri'));
  const usage = [given.get('nc'), given.get('cnonce'), given.get('qop')];
  return given.get('response') === md5(secret, given.get('nonce'), ...usage, action);
}

/** The URI of a request's Contact. */
export function contactOf(request: SipMessage): string {
  return /<([^<>]*)>/.exec(headerList(request, 'contact')[0] ?? '')?.[1] ?? '';
}

function methodOf({ start }: SipMessage): string {
  return start.kind === 'request' ? start.method : '';
}

function write(request: SipMessage, { status, reason = 'Reply', lines = [], seen }: Reply, from: RemoteInfo) {
  const via = (headerList(request, 'via')[0] ?? '').replace(
    /;rport(?=;|$)/,
    `;rport=${seen?.port ?? from.port};received=${seen?.address ?? from.address}`,
  );
  return [
    `SIP/2.0 ${status} ${reason}`,
    `Via: ${via}`,
    `From: ${header(request, 'from')}`,
    `To: ${header(request, 'to')};tag=registrar`,
    `Call-ID: ${header(request, 'call-id')}`,
    `CSeq: ${header(request, 'cseq')}`,
    ...lines,
    'Content-Length: 0',
    '',
    '',
  ].join('\r\n');
}
