/**
 * One call as a user agent client over UDP (RFC 3261): INVITE with retransmission and digest, ACK, CANCEL,
 * BYE, and answers to the peer's requests.
 */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:dgram';
import { answerChallenge, type Credentials } from './sip-digest.ts';
import { header, parseSip, type SipMessage, tagOf, uriOf, writeSip } from './sip-message.ts';

const T1_MS = 500;
const T2_MS = 4_000;
const INVITE_TIMEOUT_MS = 32_000;
/** A caller who hears nothing but ringing gives up after this. */
const RINGING_TIMEOUT_MS = 20_000;
const BYE_TIMEOUT_MS = 4_000;
const BRANCH_COOKIE = 'z9hG4bK';

/** How an INVITE was answered. */
export type InviteResult =
  | { readonly type: 'answered'; readonly sdp: string }
  | { readonly type: 'refused'; readonly status: number; readonly reason: string };

/** Options of a call. */
export interface SipCallOptions {
  /** `sip:user@host[:port]` */
  readonly target: string;
  /** User part of From. */
  readonly from: string;
  readonly localAddress: string;
  readonly credentials?: Credentials;
  /** Further headers of the INVITE. */
  readonly headers?: readonly (readonly [string, string])[];
}

interface Dialog {
  readonly remoteTarget: string;
  readonly routes: readonly string[];
  readonly to: string;
}

/** One call. The socket must be bound, and stays the owner's. */
export class SipCall {
  readonly callId = `${randomBytes(10).toString('hex')}@caller`;
  readonly #socket: Socket;
  readonly #options: SipCallOptions;
  readonly #fromTag = randomBytes(6).toString('hex');
  readonly #hungUp = Promise.withResolvers<void>();
  readonly #invited = Promise.withResolvers<InviteResult>();
  #resolveBye: (() => void) | null = null;
  #onOffer: (sdp: string) => void = () => undefined;
  #offer = '';
  #sequence = 1;
  #branch = newBranch();
  #retransmission: NodeJS.Timeout | null = null;
  #state: 'new' | 'inviting' | 'proceeding' | 'confirmed' | 'ended' = 'new';
  #isCancelling = false;
  #authorization: readonly [string, string] | null = null;
  #dialog: Dialog | null = null;

  constructor(socket: Socket, options: SipCallOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on('message', (datagram, from) => {
      const message = parseSip(datagram);
      if (!message || header(message, 'call-id') !== this.callId) return;
      if (message.status === null) this.#answerRequest(message, from);
      else if (message.method === 'INVITE') this.#takeInviteResponse(message, message.status);
      else if (message.method === 'BYE') this.#resolveBye?.();
    });
  }

  /** Resolves when the peer hangs up. */
  get hungUp(): Promise<void> {
    return this.#hungUp.promise;
  }

  /** Sets the listener for offers of re-INVITEs; each is answered with this side's own description. */
  onOffer(listener: (sdp: string) => void): void {
    this.#onOffer = listener;
  }

  /** Sends the INVITE; resolves with the final answer, status 408 if there is none. */
  invite(offer: string): Promise<InviteResult> {
    this.#offer = offer;
    this.#sendInvite();
    return this.#invited.promise;
  }

  /** Cancels the call before it is answered. */
  cancel(): void {
    if (this.#isCancelling || this.#state === 'confirmed' || this.#state === 'ended') return;
    this.#isCancelling = true;
    // A CANCEL must not overtake the first answer (RFC 3261 §9.1): it is sent after that.
    if (this.#state === 'proceeding') this.#sendCancel();
  }

  /** Hangs up; resolves when the peer has confirmed, or after a timeout. */
  async hangUp(): Promise<void> {
    const dialog = this.#dialog;
    if (this.#state !== 'confirmed' || !dialog) return;
    this.#state = 'ended';
    const confirmed = new Promise<void>((resolve) => {
      this.#resolveBye = resolve;
    });
    this.#sequence++;
    const bye = writeSip(
      `BYE ${dialog.remoteTarget} SIP/2.0`,
      this.#inDialog(dialog, { method: 'BYE', sequence: this.#sequence, branch: newBranch() }),
    );
    this.#repeat(
      () => this.#send(bye, nextHop(dialog)),
      BYE_TIMEOUT_MS,
      () => this.#resolveBye?.(),
    );
    await confirmed;
    this.#stopRepeating();
  }

  /** Stops all timers. */
  close(): void {
    this.#state = 'ended';
    this.#stopRepeating();
  }

  #sendInvite(): void {
    this.#state = 'inviting';
    const headers: (readonly [string, string])[] = [
      ...this.#common({ method: 'INVITE', sequence: this.#sequence, branch: this.#branch }),
      ['To', `<${this.#options.target}>`],
      ['Contact', `<${this.#contact}>`],
      ['Allow', 'INVITE, ACK, CANCEL, BYE, OPTIONS, INFO'],
      ...(this.#authorization ? [this.#authorization] : []),
      ...(this.#options.headers ?? []),
      ['Content-Type', 'application/sdp'],
    ];
    const invite = writeSip(`INVITE ${this.#options.target} SIP/2.0`, headers, this.#offer);
    this.#repeat(
      () => this.#send(invite, this.#options.target),
      INVITE_TIMEOUT_MS,
      () => this.#finish({ type: 'refused', status: 408, reason: 'No answer to the INVITE' }),
    );
  }

  #takeInviteResponse(response: SipMessage, status: number): void {
    const isCurrent = Number(header(response, 'cseq').split(/\s+/)[0]) === this.#sequence;
    if (this.#dialog && status >= 200 && status < 300) this.#acknowledge(this.#dialog);
    if (!isCurrent || (this.#state !== 'inviting' && this.#state !== 'proceeding')) return;
    this.#stopRepeating();
    if (status < 200) {
      const wasFirst = this.#state === 'inviting';
      this.#state = 'proceeding';
      this.#retransmission = setTimeout(() => this.#giveUpRinging(), RINGING_TIMEOUT_MS);
      if (wasFirst && this.#isCancelling) this.#sendCancel();
    } else if (status < 300) this.#accepted(response);
    else this.#declined(response, status);
  }

  #accepted(response: SipMessage): void {
    this.#state = 'confirmed';
    const routes = [...(response.headers.get('record-route') ?? [])].reverse().map(uriOf);
    this.#dialog = {
      remoteTarget: uriOf(header(response, 'contact')) || this.#options.target,
      routes,
      to: header(response, 'to'),
    };
    this.#acknowledge(this.#dialog);
    this.#invited.resolve({ type: 'answered', sdp: response.body });
  }

  #declined(response: SipMessage, status: number): void {
    const ack = writeSip(`ACK ${this.#options.target} SIP/2.0`, [
      ...this.#common({ method: 'ACK', sequence: this.#sequence, branch: this.#branch }),
      ['To', header(response, 'to')],
    ]);
    this.#send(ack, this.#options.target);
    const challenge = header(response, status === 401 ? 'www-authenticate' : 'proxy-authenticate');
    if (
      (status !== 401 && status !== 407) ||
      !this.#options.credentials ||
      this.#authorization ||
      challenge === ''
    ) {
      this.#finish({ type: 'refused', status, reason: response.reason });
      return;
    }
    const value = answerChallenge(
      challenge,
      { method: 'INVITE', uri: this.#options.target },
      this.#options.credentials,
    );
    this.#authorization = [status === 401 ? 'Authorization' : 'Proxy-Authorization', value];
    this.#sequence++;
    this.#branch = newBranch();
    this.#sendInvite();
  }

  #giveUpRinging(): void {
    this.#sendCancel();
    this.#finish({ type: 'refused', status: 408, reason: 'Rang and was not answered' });
  }

  #finish(result: InviteResult): void {
    this.close();
    this.#invited.resolve(result);
  }

  #sendCancel(): void {
    const headers = [
      ...this.#common({ method: 'CANCEL', sequence: this.#sequence, branch: this.#branch }),
      ['To', `<${this.#options.target}>`] as const,
    ];
    this.#send(writeSip(`CANCEL ${this.#options.target} SIP/2.0`, headers), this.#options.target);
  }

  #acknowledge(dialog: Dialog): void {
    const sequence = this.#state === 'ended' ? this.#sequence - 1 : this.#sequence;
    const ack = writeSip(
      `ACK ${dialog.remoteTarget} SIP/2.0`,
      this.#inDialog(dialog, { method: 'ACK', sequence, branch: newBranch() }),
    );
    this.#send(ack, nextHop(dialog));
  }

  #answerRequest(request: SipMessage, from: { readonly address: string; readonly port: number }): void {
    if (request.method === 'ACK') return;
    const isForUs = tagOf(header(request, 'to')) === this.#fromTag;
    const isKnown = ['BYE', 'INVITE', 'INFO', 'OPTIONS', 'UPDATE', 'NOTIFY'].includes(request.method);
    const statusLine = !isForUs
      ? '481 Call/Transaction Does Not Exist'
      : isKnown
        ? '200 OK'
        : '405 Method Not Allowed';
    const copied = ['via', 'from', 'to', 'call-id', 'cseq'].flatMap((name) =>
      (request.headers.get(name) ?? []).map((value) => [name, value] as const),
    );
    const isOffer = isForUs && request.method === 'INVITE';
    const extra = isOffer
      ? ([
          ['Contact', `<${this.#contact}>`],
          ['Content-Type', 'application/sdp'],
        ] as const)
      : [];
    this.#socket.send(
      writeSip(`SIP/2.0 ${statusLine}`, [...copied, ...extra], isOffer ? this.#offer : ''),
      from.port,
      from.address,
    );
    if (isOffer && this.#dialog) {
      this.#dialog = {
        ...this.#dialog,
        remoteTarget: uriOf(header(request, 'contact')) || this.#dialog.remoteTarget,
      };
      this.#onOffer(request.body);
    }
    if (!isForUs || request.method !== 'BYE') return;
    this.close();
    this.#resolveBye?.();
    this.#hungUp.resolve();
  }

  get #contact(): string {
    return `sip:${this.#options.from}@${this.#options.localAddress}:${this.#socket.address().port}`;
  }

  #common(request: {
    readonly method: string;
    readonly sequence: number;
    readonly branch: string;
  }): (readonly [string, string])[] {
    const { localAddress, from } = this.#options;
    return [
      ['Via', `SIP/2.0/UDP ${localAddress}:${this.#socket.address().port};branch=${request.branch};rport`],
      ['Max-Forwards', '70'],
      ['From', `<sip:${from}@${localAddress}>;tag=${this.#fromTag}`],
      ['Call-ID', this.callId],
      ['CSeq', `${request.sequence} ${request.method}`],
    ];
  }

  #inDialog(
    dialog: Dialog,
    request: { readonly method: string; readonly sequence: number; readonly branch: string },
  ): (readonly [string, string])[] {
    return [
      ...this.#common(request),
      ['To', dialog.to],
      ...dialog.routes.map((route) => ['Route', `<${route}>`] as const),
    ];
  }

  /** Sends now and again at doubling intervals, until stopped or `limitMs` has passed. */
  #repeat(send: () => void, limitMs: number, onGivenUp: () => void): void {
    this.#stopRepeating();
    let waitMs = T1_MS;
    let spentMs = 0;
    const turn = () => {
      send();
      this.#retransmission = setTimeout(() => {
        spentMs += waitMs;
        waitMs = Math.min(2 * waitMs, T2_MS);
        if (spentMs >= limitMs) onGivenUp();
        else turn();
      }, waitMs);
    };
    turn();
  }

  #stopRepeating(): void {
    if (this.#retransmission) clearTimeout(this.#retransmission);
    this.#retransmission = null;
  }

  #send(message: Buffer, uri: string): void {
    const { host, port } = addressOf(uri);
    this.#socket.send(message, port, host);
  }
}

/** Host and port of a SIP URI. Throws for anything else. */
export function addressOf(uri: string): { readonly host: string; readonly port: number } {
  const match = /^sips?:(?:[^@]*@)?(\[[^\]]+\]|[^:;?>]+)(?::(\d+))?/i.exec(uri);
  if (!match) throw new Error(`not a SIP address: ${uri}`);
  return { host: (match[1] ?? '').replace(/^\[|\]$/g, ''), port: Number(match[2] ?? 5060) };
}

function nextHop(dialog: Dialog): string {
  return dialog.routes[0] ?? dialog.remoteTarget;
}

function newBranch(): string {
  return `${BRANCH_COOKIE}${randomBytes(8).toString('hex')}`;
}
