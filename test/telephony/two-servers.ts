/** A worker at two servers, and a caller whose requests a proxy may send to either. */
import { expect } from 'vitest';
import { type Clock, systemClock } from '#base/clock.ts';
import type { AdmissionRequest } from '#protocol/sip-admission.ts';
import type { WorkerWatch } from '#telephony/drachtio/worker-probe.ts';
import { header, type SipMessage } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { IncomingInvite, Signalling, SipDialog } from '#telephony/signalling.ts';
import { type Link, openLink } from '#test/fakes/link.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { openRawCaller, type RawCaller } from './embedded/raw-caller.ts';

export const PATIENCE = { timeout: 20_000 };
/** How long a server keeps the calls of a worker that it has lost. */
export const GRACE_MS = 1_500;
export const OUR_SDP = description(5_000);
export const THEIR_SDP = description(4_000);

/**
 * Starts the servers and connects the worker. With `watch` they ask it for signs of life, and no control
 * plane takes their reports.
 */
export async function openTwoServers(
  watch?: WorkerWatch,
  serverClock: Clock = systemClock,
): Promise<TwoServers> {
  const named: (readonly string[] | undefined)[] = [];
  const admit = async ({ worker_tags: tags }: AdmissionRequest) => {
    named.push(tags);
    return { action: 'route', data: { tag: 'worker-1' } } as const;
  };
  const reportWorkers = () => Promise.reject(new Error('no control plane'));
  const start = () =>
    startTestSignalling({ failoverMs: GRACE_MS, admit, clock: serverClock, ...(watch && { reportWorkers }) });
  const servers = [await start(), await start()] as const;
  const links = [await openLink(servers[0].appPort), await openLink(servers[1].appPort)] as const;
  const clock = new ManualClock();
  const worker = await connectTestWorker(
    links.map(({ port }) => ({ appPort: port })),
    'worker-1',
    clock,
    watch,
  );
  const phones = [await openRawCaller(servers[0].sipPort), await openRawCaller(servers[1].sipPort)] as const;
  const two = new TwoServers({ servers, links, worker, clock, phones, named });
  await expect.poll(() => worker.servers.length, PATIENCE).toBe(2);
  return two;
}

/** What `openTwoServers` has opened. */
interface Parts {
  readonly servers: readonly [EmbeddedSignalling, EmbeddedSignalling];
  readonly links: readonly [Link, Link];
  readonly worker: Signalling;
  /** The worker's time. */
  readonly clock: ManualClock;
  /** The caller at the first server, and its requests as a proxy sends them to the second. */
  readonly phones: readonly [RawCaller, RawCaller];
  /** The workers named in each question to the control plane. */
  readonly named: readonly (readonly string[] | undefined)[];
}

export class TwoServers {
  readonly parts: Parts;
  readonly invites: IncomingInvite[] = [];
  readonly digits: string[] = [];
  ended = 0;

  constructor(parts: Parts) {
    this.parts = parts;
    parts.worker.onInvite((invite) => this.invites.push(invite));
  }

  async close(): Promise<void> {
    const { phones, worker, links, servers } = this.parts;
    for (const phone of phones) phone.close();
    worker.close();
    for (const link of links) await link.close();
    for (const server of servers) await server.close();
  }

  dialogs = (): number[] => this.parts.servers.map((server) => server.metrics().dialogs);

  reinvites = (): SipMessage[] =>
    this.parts.phones[0].heard.filter((message) => methodOf(message) === 'INVITE');

  /** The phone calls through the first server; resolves with the answered dialog. */
  async call(lines: readonly string[] = []): Promise<SipDialog> {
    const [phone] = this.parts.phones;
    phone.request({ body: THEIR_SDP, lines });
    await expect.poll(() => this.invites.length, PATIENCE).toBe(1);
    const dialog = await this.invites[0]!.answer(OUR_SDP);
    dialog.listen({
      onEnded: () => (this.ended += 1),
      onOffer: () => OUR_SDP,
      makeOffer: () => OUR_SDP,
      onAnswer: () => undefined,
      onInfo: ({ body }) => this.digits.push(body),
    });
    await phone.response(200, PATIENCE.timeout);
    phone.request({ method: 'ACK', toTag: dialog.facts.localTag });
    return dialog;
  }

  /** A request of the phone inside its call, at either server. */
  within = (dialog: SipDialog, at: RawCaller, request: `${number} ${string}`, body = ''): void => {
    const { sipCallId: callId, localTag: toTag } = dialog.facts;
    const [cseq, method = ''] = request.split(' ');
    at.request({ method, cseq: Number(cseq), callId, toTag, body });
  };

  /** Cuts the worker's connection to the first server. */
  loseFirst = async (): Promise<void> => {
    this.parts.links[0].cut();
    await expect.poll(() => this.parts.worker.servers.length, PATIENCE).toBe(1);
  };

  /** The worker's time passes until it is connected to no more than these servers. */
  async untilConnectedTo(which: readonly (0 | 1)[]): Promise<void> {
    const { clock, links, worker } = this.parts;
    const names = which.map((index) => `127.0.0.1:${links[index].port}`);
    const tick = async () => {
      await clock.advance(1_000);
      return worker.servers;
    };
    await expect.poll(tick, { ...PATIENCE, interval: 100 }).toEqual(names);
  }

  /** Accepts the re-INVITE that makes the call known to a server. */
  acceptReinvite = async (nth = 0): Promise<SipMessage> => {
    const [phone] = this.parts.phones;
    await expect.poll(() => this.reinvites().length, PATIENCE).toBeGreaterThan(nth);
    const request = this.reinvites()[nth]!;
    phone.answer(request, 200, THEIR_SDP);
    const cseq = Number.parseInt(header(request, 'cseq') ?? '', 10);
    await phone.next((message) => header(message, 'cseq') === `${cseq} ACK`, PATIENCE.timeout);
    return request;
  };

  /** The BYE that the phone gets through a server. */
  byeThrough(which: 0 | 1, at: RawCaller = this.parts.phones[0]): Promise<SipMessage> {
    const port = this.parts.servers[which].sipPort;
    return at.next((message) => methodOf(message) === 'BYE' && viaPort(message) === port, PATIENCE.timeout);
  }
}

/** The final response to a request. */
export const answerTo = (at: RawCaller, cseq: string): Promise<SipMessage> =>
  at.next(
    (message) =>
      message.start.kind === 'response' && message.start.status >= 200 && header(message, 'cseq') === cseq,
    PATIENCE.timeout,
  );

export function description(port: number): string {
  return (
    'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n' +
    `m=audio ${port} RTP/AVP 0\r\n`
  );
}

export function methodOf({ start }: SipMessage): string | null {
  return start.kind === 'request' ? start.method : null;
}

export function statusOf({ start }: SipMessage): number {
  return start.kind === 'response' ? start.status : 0;
}

export function cseqOf(message: SipMessage): number {
  return Number.parseInt(header(message, 'cseq') ?? '', 10);
}

/** The port of the server that sent this request. */
export function viaPort(message: SipMessage): number {
  return Number(/:(\d+)/.exec(header(message, 'via') ?? '')?.[1]);
}
