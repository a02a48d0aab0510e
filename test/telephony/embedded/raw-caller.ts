/**
 * A test caller that writes its own SIP verbatim, including messages that no well-behaved program would send.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { systemClock } from '#base/clock.ts';
import { header, parseMessage, type SipMessage } from '#telephony/embedded/message.ts';
import { parseVia } from '#telephony/embedded/via.ts';

/** Parts of a request that differ from the defaults. */
export interface RawRequest {
  readonly method?: string;
  readonly branch?: string;
  readonly sentBy?: string;
  readonly callId?: string;
  readonly cseq?: number;
  readonly toTag?: string | null;
  /** The whole header; `fromTag` alone gives a valid one. */
  readonly from?: string;
  readonly fromTag?: string;
  /** Null omits the header. */
  readonly contact?: string | null;
  readonly body?: string;
  readonly uri?: string;
  /** Additional header lines. */
  readonly lines?: readonly string[];
}

/** Opens a caller that talks to the server on `serverPort`. */
export async function openRawCaller(serverPort: number): Promise<RawCaller> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return new RawCaller(socket, serverPort);
}

export class RawCaller {
  readonly heard: SipMessage[] = [];
  readonly port: number;
  readonly #socket: Socket;
  readonly #serverPort: number;
  #count = 0;

  constructor(socket: Socket, serverPort: number) {
    this.#socket = socket;
    this.#serverPort = serverPort;
    this.port = socket.address().port;
    socket.on('message', (bytes) => {
      const message = parseMessage(bytes.toString());
      if (message) this.heard.push(message);
    });
  }

  /** Sends arbitrary bytes. */
  send(text: string | Uint8Array, port = this.#serverPort): void {
    this.#socket.send(text, port, '127.0.0.1');
  }

  /** Sends a request; returns its text for retransmission. */
  request(request: RawRequest = {}): string {
    this.#count += 1;
    const method = request.method ?? 'INVITE';
    const contact = request.contact === undefined ? `<sip:caller@127.0.0.1:${this.port}>` : request.contact;
    const body = request.body ?? '';
    const text = [
      `${method} ${request.uri ?? 'sip:+15550100@127.0.0.1'} SIP/2.0`,
      'Via: SIP/2.0/UDP ' +
        `${request.sentBy ?? `127.0.0.1:${this.port}`};` +
        `branch=${request.branch ?? `z9hG4bK-${this.port}-${this.#count}`}`,
      'Max-Forwards: 70',
      `From: ${request.from ?? `<sip:caller@127.0.0.1>;tag=${request.fromTag ?? 'caller'}`}`,
      `To: <sip:+15550100@127.0.0.1>${request.toTag ? `;tag=${request.toTag}` : ''}`,
      `Call-ID: ${request.callId ?? `call-${this.port}`}`,
      `CSeq: ${request.cseq ?? 1} ${method}`,
      ...(request.lines ?? []),
      ...(contact === null ? [] : [`Contact: ${contact}`]),
      ...(body === '' ? [] : ['Content-Type: application/sdp']),
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n');
    this.send(text);
    return text;
  }

  /** Answers a received request, at the server that sent it. */
  answer(request: SipMessage, status: number, body = ''): void {
    const same = (name: string) =>
      request.headers
        .filter((entry) => entry.name.toLowerCase() === name)
        .map((entry) => `${entry.name}: ${entry.value}`);
    const copied = ['via', 'from', 'to', 'call-id', 'cseq'].flatMap(same);
    const contact = `Contact: <sip:caller@127.0.0.1:${this.port}>`;
    const type = body === '' ? [] : ['Content-Type: application/sdp'];
    this.send(
      [
        `SIP/2.0 ${status} Test`,
        ...copied,
        contact,
        ...type,
        `Content-Length: ${Buffer.byteLength(body)}`,
        '',
        body,
      ].join('\r\n'),
      parseVia(header(request, 'via') ?? '')?.port ?? undefined,
    );
  }

  /** Responses so far, as `status method`. */
  get responses(): string[] {
    return this.heard.flatMap((message) =>
      message.start.kind === 'response'
        ? [`${message.start.status} ${(header(message, 'cseq') ?? '').split(' ')[1]}`]
        : [],
    );
  }

  /** Requests so far, by method. */
  get requests(): string[] {
    return this.heard.flatMap((message) => (message.start.kind === 'request' ? [message.start.method] : []));
  }

  /** The first message that matches, past or future. */
  async next(matches: (message: SipMessage) => boolean, deadlineMs = 3000): Promise<SipMessage> {
    const untilMs = systemClock.now() + deadlineMs;
    for (;;) {
      const found = this.heard.find(matches);
      if (found) return found;
      if (systemClock.now() > untilMs)
        throw new Error(
          `not heard within ${deadlineMs} ms; heard: ${[...this.responses, ...this.requests].join(', ')}`,
        );
      await systemClock.sleep(5);
    }
  }

  /** The first response with this status. */
  response(status: number, deadlineMs?: number): Promise<SipMessage> {
    return this.next(
      (message) => message.start.kind === 'response' && message.start.status === status,
      deadlineMs,
    );
  }

  /** The first request with this method. */
  incoming(method: string, deadlineMs?: number): Promise<SipMessage> {
    return this.next(
      (message) => message.start.kind === 'request' && message.start.method === method,
      deadlineMs,
    );
  }

  close(): void {
    this.#socket.close();
  }
}
