/**
 * An outbound INVITE, over drachtio-srf. Challenges are answered here, because drachtio-srf knows one
 * challenge and MD5 only; it still answers those within the dialog.
 */
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import type Srf from 'drachtio-srf';
import { answerChallenge, type DigestChallenge, readChallenges } from '../digest-challenge.ts';
import { header, parseCseq, parseMessage } from '../embedded/message.ts';
import { ALLOW } from '../methods.ts';
import { type DialRequest, InviteRefused, type OutgoingInvite, type SipDialog } from '../signalling.ts';
import { readSipUri } from '../sip-address.ts';
import { DrachtioDialog, type WorkerDialogs } from './dialog.ts';
import { statusOf } from './errors.ts';
import { rawOf } from './plain-request.ts';
import type { ServerConnection } from './server-connection.ts';

type Headers = Readonly<Record<string, string>>;

export class DrachtioOutgoingInvite implements OutgoingInvite {
  readonly answered: Promise<SipDialog>;
  readonly settled: Promise<void>;
  readonly #server: ServerConnection;
  readonly #dial: DialRequest;
  readonly #dialogs: WorkerDialogs;
  readonly #answer: PromiseWithResolvers<SipDialog>;
  #request: Srf.SrfRequest | null = null;
  #isCancelled = false;
  /** What was asked so far, by a proxy and by the server behind it. */
  readonly #challenges: DigestChallenge[] = [];
  #onEarlyMedia: ((sdp: string) => void) | null = null;

  constructor(server: ServerConnection, dial: DialRequest, dialogs: WorkerDialogs) {
    this.#server = server;
    this.#dial = dial;
    this.#dialogs = dialogs;
    this.#answer = Promise.withResolvers<SipDialog>();
    this.answered = this.#answer.promise;
    // After `cancel` nothing may await this promise any more, and its rejection must not end the process.
    this.settled = this.answered.then(
      () => undefined,
      () => undefined,
    );
    this.#send(partiesOf(dial), dial.nextHop ?? null);
  }

  onEarlyMedia(listener: (sdp: string) => void): void {
    this.#onEarlyMedia = listener;
  }

  cancel(): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#request?.cancel(() => undefined);
  }

  /** The connection to the server is lost: whoever answers now gets no ACK. */
  lose(): void {
    this.#answer.reject(new Error('the connection to signalling was lost'));
  }

  #send(headers: Headers, nextHop: string | null): void {
    const { toUri, sdpOffer, credentials } = this.#dial;
    const options: { auth?: DialRequest['credentials']; [name: string]: unknown } = {
      localSdp: sdpOffer,
      headers,
      ...(nextHop === null ? {} : { proxy: nextHop }),
    };
    const onSent = (error: unknown, request: Srf.SrfRequest) => {
      // Read when the dialog is made, and for the INVITE no more.
      if (credentials) options.auth = { ...credentials };
      if (!error) this.#sent(request);
    };
    const progress = {
      cbRequest: onSent as unknown as (request: Srf.SrfRequest) => void,
      cbProvisional: (response: Srf.SrfResponse) => {
        const { body } = response as unknown as { readonly body: string };
        if (body.trim() !== '') this.#onEarlyMedia?.(body);
      },
    };
    // With a callback, for the same reason as in `DrachtioInvite.answer`.
    this.#server.srf.createUAC(toUri, options as never, progress, (error: unknown, dialog) => {
      if (error) {
        if (!this.#challenged(error)) this.#answer.reject(asRefusal(error));
      } else if (this.#isCancelled) {
        void new DrachtioDialog(dialog, this.#server, this.#dialogs).hangUp();
        this.#answer.reject(new InviteRefused(487));
      } else this.#answer.resolve(new DrachtioDialog(dialog, this.#server, this.#dialogs));
    });
  }

  #sent(request: Srf.SrfRequest): void {
    this.#request = request;
    if (this.#isCancelled) request.cancel(() => undefined);
  }

  /**
   * Answers a challenge in the next request of the same Call-ID (RFC 3261 §22.2): one of a proxy and one of
   * the server behind it. A further one has refused the password. Returns whether the call goes on.
   */
  #challenged(error: unknown): boolean {
    const { credentials } = this.#dial;
    const sent = parseMessage(rawOf(this.#request));
    const { res: response } = error as { readonly res?: Srf.SrfResponse };
    const headers = parseMessage(rawOf(response))?.headers ?? [];
    const [challenge] = readChallenges({ status: statusOf(error), headers });
    const isRepeated = this.#challenges.some(({ answerIn }) => answerIn === challenge?.answerIn);
    if (this.#isCancelled || !credentials || !sent || !response || !challenge || isRepeated) return false;
    this.#challenges.push(challenge);
    const { from: _from, ...parties } = partiesOf(this.#dial) as Record<string, string>;
    const again = {
      ...parties,
      From: header(sent, 'from') ?? '',
      'Call-ID': header(sent, 'call-id') ?? '',
      CSeq: `${(parseCseq(sent)?.number ?? 1) + 1} INVITE`,
      ...this.#answers(credentials),
    };
    // It is over: a CANCEL that comes now is for the next one.
    this.#request = null;
    this.#send(again, this.#challengerOf(response));
    return true;
  }

  #answers(credentials: NonNullable<DialRequest['credentials']>): Headers {
    const { toUri: uri, sdpOffer: body } = this.#dial;
    const invite = { method: 'INVITE', uri, body };
    const answers = this.#challenges.map((challenge, index): [string, string] => {
      const proof = { cnonce: randomBytes(8).toString('hex'), uses: this.#challenges.length - index };
      return [challenge.answerIn, answerChallenge(challenge, invite, credentials, proof)];
    });
    return Object.fromEntries(answers);
  }

  /** The server that challenged: a name may stand for several. Over TLS the name is needed. */
  #challengerOf(response: Srf.SrfResponse): string | null {
    const { nextHop = null, toUri } = this.#dial;
    const place = readSipUri(nextHop ?? toUri);
    if (!place || isIP(place.host) !== 0 || place.transport === 'tls') return nextHop;
    const { source_address: address, source_port: port } = response as unknown as {
      readonly source_address: string;
      readonly source_port: number;
    };
    return `sip:${isIP(address) === 6 ? `[${address}]` : address}:${port};transport=${place.transport}`;
  }
}

/** The server replaces localhost by its own address. */
function partiesOf({ fromNumber, line, headers }: DialRequest): Headers {
  const user = line?.fromUser ?? fromNumber;
  return {
    ...headers,
    ...(line && line.routes.length > 0 ? { route: line.routes.join(', ') } : {}),
    allow: ALLOW,
    // drachtio-srf acknowledges reliable provisional responses.
    supported: '100rel',
    from: `<sip:${user}@${line?.fromHost ?? 'localhost'}>`,
    contact: `<sip:${user}@${line?.contactPlace ?? 'localhost'}>`,
  };
}

function asRefusal(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const status = statusOf(error);
  return status === 0 ? error : new InviteRefused(status);
}
