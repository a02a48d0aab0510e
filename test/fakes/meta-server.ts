/**
 * Stands in for Meta's SIP server of WhatsApp calls (wa.meta.vc), as Meta documents it: TLS only, a digest
 * challenge for each call of a business, media with keys in the description or as for browsers, no re-INVITE.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import { answerChallenge } from '#caller/sip-digest.ts';
import { header, parseSip, type SipMessage, tagOf, uriOf, writeSip } from '#caller/sip-message.ts';
import type { TestCertificate } from './certificate.ts';
import { MetaAudio, MetaCall, type MetaMedia } from './meta-call.ts';

const ALLOW = 'INVITE, ACK, BYE, CANCEL, NOTIFY, OPTIONS';
const REALM = 'wa.meta.vc';
/** A proxy inside of Meta: only requests along the route before it reach it. */
const INNER_ROUTE = '<sip:onevc-sip-proxy.fbinfra.net:8191;transport=tls;lr>';

type Headers = readonly (readonly [string, string])[];

/** A business number as Meta knows it. */
export interface Business {
  /** E.164. */
  readonly number: string;
  /** Name of its SIP server. */
  readonly domain: string;
  /** Made by Meta. */
  readonly password: string;
}

interface Refusal {
  readonly status: number;
  readonly reason: string;
  readonly headers?: Headers;
}

/** Starts the server for one business, whose SIP server has a certificate of `authority`. */
export async function startMetaServer(
  certificate: TestCertificate,
  business: Business & { readonly authority: string },
): Promise<MetaServer> {
  const server = createServer({ cert: certificate.certificate, key: certificate.key });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return new MetaServer(server, business);
}

export class MetaServer {
  /** `host:port`, by the name in its certificate. */
  readonly address: string;
  /** INVITEs of the business so far. */
  readonly invites: SipMessage[] = [];
  /** Calls of the business that were answered. */
  readonly answered: MetaCall[] = [];
  readonly #server: Server;
  readonly #business: Business & { readonly authority: string };
  readonly #connections = new Set<TLSSocket>();
  /** By Call-ID. */
  readonly #calls = new Map<string, MetaCall>();
  /** Final responses that are awaited, by Call-ID and CSeq. */
  readonly #awaited = new Map<string, (response: SipMessage) => void>();
  readonly #nonce = randomBytes(8).toString('hex');
  #count = 0;

  constructor(server: Server, business: Business & { readonly authority: string }) {
    this.#server = server;
    this.#business = business;
    this.address = `localhost:${(server.address() as AddressInfo).port}`;
    server.on('secureConnection', (socket) => this.#serve(socket));
  }

  /**
   * A WhatsApp user calls the business, whose SIP server listens on `port`. Returns the answered call, or the
   * status that refused it.
   */
  async callBusiness(port: number, user: string, media: MetaMedia = 'sdes'): Promise<MetaCall | number> {
    const { domain, number, authority: ca } = this.#business;
    const connection = connect({ host: '127.0.0.1', port, servername: domain, ca });
    await once(connection, 'secureConnect');
    this.#serve(connection);
    const audio = await MetaAudio.open();
    const callId = `outgoing:wacid.${randomBytes(25).toString('base64')}`;
    const from = `"${user.slice(1)}" <sip:${user}@${REALM}>;tag=${newTag()}`;
    const to = `<sip:${number}@${domain}>`;
    const uri = `sip:${number}@${domain};transport=tls`;
    const invite = async (sequence: number, proof: Headers) => {
      const via = this.#via();
      const headers = this.#inviteHeaders({ callId, from, to, user, sequence, via });
      const sdp = audio.describe(media);
      const response = this.#response(callId, `${sequence} INVITE`);
      connection.write(writeSip(`INVITE ${uri} SIP/2.0`, [...headers, ...proof], sdp));
      const answer = await response;
      const isAccepted = answer.status === 200;
      const target = isAccepted ? uriOf(header(answer, 'contact')) : uri;
      const ack: Headers = [
        isAccepted ? this.#via() : via,
        ['Max-Forwards', '70'],
        ['From', from],
        ['To', header(answer, 'to')],
        ['Call-ID', callId],
        ['CSeq', `${sequence} ACK`],
      ];
      connection.write(writeSip(`ACK ${target} SIP/2.0`, ack));
      return answer;
    };
    let answer = await invite(9989, []);
    if (answer.status === 407) answer = await invite(9990, [this.#proof(answer)]);
    if (answer.status !== 200) {
      audio.close();
      return answer.status ?? 0;
    }
    audio.connect(answer.body);
    const parties = { callId, from, to: header(answer, 'to'), target: uriOf(header(answer, 'contact')) };
    return this.#begin(parties, audio, connection);
  }

  close(): void {
    for (const call of this.#calls.values()) call.audio.close();
    for (const connection of this.#connections) connection.destroy();
    this.#server.close();
  }

  #serve(connection: TLSSocket): void {
    this.#connections.add(connection);
    connection.on('error', () => undefined);
    let held = Buffer.alloc(0);
    connection.on('data', (chunk: Buffer) => {
      held = Buffer.concat([held, chunk]);
      for (;;) {
        const end = held.indexOf('\r\n\r\n') + 4;
        const head = held.toString('latin1', 0, end);
        const whole = end + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
        if (end === 3 || held.length < whole) return;
        const message = parseSip(held.subarray(0, whole));
        held = held.subarray(whole);
        if (message) this.#take(message, connection);
      }
    });
  }

  #take(message: SipMessage, connection: TLSSocket): void {
    if (message.status !== null) {
      if (message.status >= 200)
        this.#awaited.get(`${header(message, 'call-id')} ${header(message, 'cseq')}`)?.(message);
    } else if (message.method === 'INVITE') void this.#takeInvite(message, connection);
    else if (message.method !== 'ACK') {
      connection.write(responseTo(message, { status: 200, reason: 'OK' }));
      if (message.method === 'BYE')
        this.#calls.get(header(message, 'call-id'))?.noteBye(message.headers.get('route') ?? []);
    }
  }

  async #takeInvite(invite: SipMessage, connection: TLSSocket): Promise<void> {
    this.invites.push(invite);
    const refusal = this.#refusalOf(invite);
    if (refusal) {
      connection.write(responseTo(invite, refusal));
      return;
    }
    const audio = await MetaAudio.open();
    const user = /^sip:(\+\d+)@/.exec(invite.requestUri)?.[1] ?? '';
    const toTag = newTag();
    const [, digits = ''] = /^a=rtpmap:(\d+) telephone-event\/8000/m.exec(invite.body) ?? [];
    const answer: Headers = [
      ['Record-Route', INNER_ROUTE],
      ['Record-Route', `<sip:${this.address};transport=tls;lr>`],
      ['Allow', ALLOW],
      ['X-FB-External-Domain', REALM],
      ['Contact', `<sip:${user}@${REALM};transport=tls;ob>;isfocus`],
      ['Content-Type', 'application/sdp'],
    ];
    audio.connect(invite.body);
    connection.write(responseTo(invite, { status: 180, reason: 'Ringing' }, { toTag }));
    const body = audio.describe('sdes', Number(digits));
    connection.write(responseTo(invite, { status: 200, reason: 'OK', headers: answer }, { toTag, body }));
    const parties = {
      callId: header(invite, 'call-id'),
      from: `${header(invite, 'to')};tag=${toTag}`,
      to: header(invite, 'from'),
      target: uriOf(header(invite, 'contact')),
    };
    this.answered.push(this.#begin(parties, audio, connection));
  }

  /** In Meta's words, which are in its documentation; null if the call is put through. */
  #refusalOf(invite: SipMessage): Refusal | null {
    const { number, domain } = this.#business;
    const [, user = '', host = ''] = /^sip:([^@]*)@([^:;]*)/.exec(uriOf(header(invite, 'from'))) ?? [];
    if (tagOf(header(invite, 'to')) !== '') return { status: 500, reason: 'Internal Server Error' };
    if (user !== number) return { status: 400, reason: 'Asset not found, invalid business phone number' };
    if (domain !== host && !domain.endsWith(`.${host}`)) {
      const reason = `SIP server ${host} from INVITE does not match any SIP server configured`;
      return { status: 403, reason, headers: [['Warning', `399 ${REALM} "${reason}"`]] };
    }
    const proof = header(invite, 'proxy-authorization');
    if (proof === '') {
      const challenge = `realm="${REALM}",nonce="${this.#nonce}",opaque="440badfc05072367"`;
      const headers: Headers = [['Proxy-Authenticate', `Digest ${challenge},algorithm=MD5,qop="auth"`]];
      return { status: 407, reason: 'Proxy Authentication Required', headers };
    }
    return this.#isProof(proof, invite) ? null : { status: 403, reason: 'Invalid digest auth response' };
  }

  #isProof(proof: string, { requestUri }: SipMessage): boolean {
    const { number, password } = this.#business;
    const fields = new Map(
      [...proof.matchAll(/(\w+)=(?:"([^"]*)"|([^\s,"]+))/g)].map(([, name = '', quoted, plain]) => [
        name,
        quoted ?? plain ?? '',
      ]),
    );
    const field = (name: string) => fields.get(name) ?? '';
    const md5 = (text: string) => createHash('md5').update(text).digest('hex');
    const secret = md5(`${number.slice(1)}:${REALM}:${password}`);
    const action = md5(`INVITE:${field('uri')}`);
    const rest = ['nonce', 'nc', 'cnonce', 'qop'].map(field);
    return (
      field('username') === number.slice(1) &&
      field('nonce') === this.#nonce &&
      field('opaque') === '440badfc05072367' &&
      field('uri') === requestUri &&
      field('response') === md5([secret, ...rest, action].join(':'))
    );
  }

  /** The answer to a challenge of the business: by MD5, and for the URI without its transport. */
  #proof(challenged: SipMessage): readonly [string, string] {
    const { number, domain, password } = this.#business;
    const challenges = challenged.headers.get('proxy-authenticate') ?? [];
    const challenge = challenges.find((each) => !/algorithm=(?!MD5\b)/i.test(each)) ?? '';
    const request = { method: 'INVITE', uri: `sip:${number}@${domain}` };
    const credentials = { username: number.slice(1), password };
    return ['Proxy-Authorization', answerChallenge(challenge, request, credentials)];
  }

  #inviteHeaders(of: {
    readonly callId: string;
    readonly from: string;
    readonly to: string;
    readonly user: string;
    readonly sequence: number;
    readonly via: readonly [string, string];
  }): Headers {
    const inner = `[2803:6080:f948:9597:${this.#count}::]`;
    return [
      of.via,
      ['Record-Route', `<sip:${this.address};transport=tls;lr>`],
      ['Record-Route', INNER_ROUTE],
      ['Via', `SIP/2.0/TLS ${inner}:5061;branch=z9hG4bKPj${newTag()}`],
      [
        'Via',
        `SIP/2.0/TLS ${inner}:63057;rport=63057;received=2803:6080::1;branch=z9hG4bKPj${newTag()};alias`,
      ],
      ['Max-Forwards', '69'],
      ['From', of.from],
      ['To', of.to],
      ['Contact', `<sip:${of.user}@${REALM};transport=tls;ob>;isfocus`],
      ['Call-ID', of.callId],
      ['CSeq', `${of.sequence} INVITE`],
      ['X-FB-External-Domain', REALM],
      ['x-wa-meta-wacid', of.callId.slice('outgoing:'.length)],
      ['Allow', ALLOW],
      ['User-Agent', 'Facebook SipGateway'],
      ['Content-Type', 'application/sdp'],
    ];
  }

  #via(): readonly [string, string] {
    return ['Via', `SIP/2.0/TLS [2803:6080:f948:9597::]:57363;rport;branch=z9hG4bKPj${newTag()};alias`];
  }

  #begin(parties: MetaCall['parties'], audio: MetaAudio, connection: TLSSocket): MetaCall {
    const hangUp = async (over: TLSSocket) => {
      const cseq = `${10_000 + ++this.#count} BYE`;
      const bye: Headers = [
        this.#via(),
        ['Max-Forwards', '69'],
        ['From', parties.from],
        ['To', parties.to],
        ['Call-ID', parties.callId],
        ['CSeq', cseq],
        ['x-wa-meta-call-duration', '5'],
      ];
      const response = this.#response(parties.callId, cseq);
      over.write(writeSip(`BYE ${parties.target} SIP/2.0`, bye));
      const { status } = await response;
      if (status !== 200) throw new Error(`the BYE was answered ${status}`);
    };
    const call = new MetaCall(parties, { audio, connection }, hangUp);
    this.#calls.set(parties.callId, call);
    return call;
  }

  #response(callId: string, cseq: string): Promise<SipMessage> {
    return new Promise((resolve) => this.#awaited.set(`${callId} ${cseq}`, resolve));
  }
}

function responseTo(
  request: SipMessage,
  { status, reason, headers = [] }: Refusal,
  { toTag = newTag(), body = '' }: { readonly toTag?: string; readonly body?: string } = {},
): Buffer {
  const to = header(request, 'to');
  const same: Headers = [
    ...(request.headers.get('via') ?? []).map((via) => ['Via', via] as const),
    ['From', header(request, 'from')],
    ['To', tagOf(to) === '' ? `${to};tag=${toTag}` : to],
    ['Call-ID', header(request, 'call-id')],
    ['CSeq', header(request, 'cseq')],
  ];
  return writeSip(`SIP/2.0 ${status} ${reason}`, [...same, ...headers], body);
}

function newTag(): string {
  return randomBytes(9).toString('hex');
}
