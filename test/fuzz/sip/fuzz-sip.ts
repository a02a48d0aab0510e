/**
 * Sends mutated SIP over UDP and TCP to the embedded signalling, with a worker that answers calls. The clock
 * is simulated: after each batch it advances past every retransmission, so any state that outlives a
 * transaction is a leak.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { systemClock } from '#base/clock.ts';
import { newSrtpKey } from '#media/rtp/srtp.ts';
import { header, parameter, parseMessage } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import { answerAudio } from '#telephony/sdp.ts';
import type { IncomingInvite, Signalling } from '#telephony/signalling.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { createRandom, type Random } from '#test/simulation/random.ts';
import { openRawCaller } from '#test/telephony/embedded/raw-caller.ts';
import { type HeapUse, heapBytes } from './heap.ts';
import { mutate } from './mutate.ts';
import {
  ackOf,
  byeOf,
  DESCRIPTIONS,
  type FuzzedCall,
  inviteOf,
  optionsOf,
  sipMessages,
} from './sip-corpus.ts';

/** Results of a run. */
export interface SipFuzzResult {
  /** Responses by status. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly heap: HeapUse;
  readonly calls: number;
  readonly metrics: ReturnType<EmbeddedSignalling['metrics']>;
}

const BATCH = 40;
/** Number of messages that refer to the same call. */
const PER_CALL = 800;
const PATIENCE_MS = 30_000;
/** Longer than any transaction, ms. */
const OVER_MS = 70_000;
const TCP_SHARE = 0.05;
const LOCAL = {
  address: '127.0.0.1',
  port: 4_000,
  sessionId: 1,
  version: 1,
  srtpKey: newSrtpKey(),
  isSecure: false,
};
/**
 * Sends `runs` messages; throws if the server does not answer the request after a batch, or if the final call
 * is not normal.
 */
export async function fuzzSip({
  seed,
  runs,
  clock = new ManualClock(),
}: {
  seed: number;
  runs: number;
  clock?: ManualClock;
}): Promise<SipFuzzResult> {
  const random = createRandom(seed);
  const server = await startTestSignalling({
    clock,
    admit: async () =>
      random.chance(0.7)
        ? { action: 'route', data: { tag: 'worker-1' } }
        : { action: 'reject', data: { status: 403, reason: 'No' } },
  });
  const worker = await connectTestWorker(server);
  const fuzzer = new Fuzzer(server, worker, clock, random);
  try {
    return await fuzzer.run(runs);
  } finally {
    fuzzer.close();
    worker.close();
    await server.close();
  }
}

class Fuzzer {
  readonly #server: EmbeddedSignalling;
  readonly #clock: ManualClock;
  readonly #random: Random;
  readonly #statuses = new Map<number, number>();
  #source: Socket | null = null;
  #callsMade = 0;
  #marker = '';
  #marked: (() => void) | null = null;
  #calls = 0;

  constructor(server: EmbeddedSignalling, worker: Signalling, clock: ManualClock, random: Random) {
    this.#server = server;
    this.#clock = clock;
    this.#random = random;
    worker.onInvite((invite) => void this.#serve(invite));
  }

  async run(runs: number): Promise<SipFuzzResult> {
    let early = 0;
    let call: FuzzedCall | null = null;
    for (let sent = 0; sent < runs; sent += BATCH) {
      if (sent % PER_CALL === 0) {
        if (call) this.#sendWhole(byeOf(call));
        await this.#settle();
        call = await this.#nextCall();
      }
      if (early === 0 && sent >= runs / 5) early = await heapBytes();
      const batch = Math.min(BATCH, runs - sent);
      for (let n = sent; n < sent + batch; n++) this.#send(call as FuzzedCall, n);
      await this.#answered(`${sent}`);
      await this.#clock.advance(OVER_MS);
    }
    if (call) this.#sendWhole(byeOf(call));
    await this.#settle();
    const late = await heapBytes();
    await this.#expectNormalCall();
    return {
      statuses: this.#statuses,
      heap: { early, late },
      calls: this.#calls,
      metrics: this.#server.metrics(),
    };
  }

  close(): void {
    this.#source?.close();
  }

  /** A worker that rings, answers when possible, and hangs up or waits. */
  async #serve(invite: IncomingInvite): Promise<void> {
    this.#calls += 1;
    invite.onCancel(() => undefined);
    if (this.#random.chance(0.3)) {
      invite.refuse(486);
      return;
    }
    invite.ring();
    try {
      const dialog = await invite.answer(
        invite.sdpOffer === null
          ? (DESCRIPTIONS[0]?.toString() ?? '')
          : answerAudio(invite.sdpOffer, LOCAL).sdp,
      );
      dialog.listen({
        onEnded: () => undefined,
        onOffer: (sdp) => answerOrNull(sdp),
        makeOffer: () => DESCRIPTIONS[0]?.toString() ?? '',
        onAnswer: () => undefined,
        onInfo: () => undefined,
      });
      if (this.#random.chance(0.5)) await dialog.hangUp();
    } catch {
      invite.refuse(488);
    }
  }

  /** A call from a separate socket, acknowledged when it is answered. */
  async #nextCall(): Promise<FuzzedCall> {
    this.#source?.close();
    this.#callsMade += 1;
    const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 20 });
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    this.#source = socket;
    const theirs = { callId: `call-${this.#callsMade}`, theirTag: 'caller', port: socket.address().port };
    const answered = Promise.withResolvers<FuzzedCall>();
    socket.on('message', (bytes) => {
      this.#heard(bytes.toString());
      const message = parseMessage(bytes.toString());
      const isFirst =
        message && header(message, 'call-id') === theirs.callId && header(message, 'cseq') === '1 INVITE';
      if (!isFirst || message.start.kind !== 'response' || message.start.status < 200) return;
      const call = { ...theirs, ourTag: parameter(header(message, 'to') ?? '', 'tag') ?? '' };
      this.#sendWhole(ackOf(call));
      answered.resolve(call);
    });
    this.#sendWhole(inviteOf(theirs));
    return inTime(answered.promise, 'the call before a batch was not answered');
  }

  #sendWhole(text: string): void {
    this.#source?.send(text, this.#server.sipPort, '127.0.0.1');
  }

  #send(call: FuzzedCall, n: number): void {
    const messages = sipMessages(call, n);
    const mutated = mutate(this.#random.pick(messages), messages, this.#random);
    if (this.#random.chance(TCP_SHARE)) this.#sendByTcp(mutated);
    else this.#source?.send(mutated.subarray(0, 60_000), this.#server.sipPort, '127.0.0.1', () => undefined);
  }

  #sendByTcp(bytes: Buffer): void {
    const localAddress = this.#source?.address().address ?? '127.0.0.1';
    const socket = connect({ port: this.#server.sipPort, host: '127.0.0.1', localAddress });
    const cut = Math.floor(this.#random.next() * bytes.length);
    socket.on('error', () => undefined).on('data', (chunk) => this.#heard(chunk.toString()));
    socket.write(bytes.subarray(0, cut));
    socket.end(bytes.subarray(cut));
  }

  #heard(text: string): void {
    const status = /^SIP\/2\.0 (\d{3})/.exec(text)?.[1];
    if (status !== undefined)
      this.#statuses.set(Number(status), (this.#statuses.get(Number(status)) ?? 0) + 1);
    if (this.#marker !== '' && text.includes(this.#marker)) this.#marked?.();
  }

  /** Checks that the server has processed all earlier messages and still answers. */
  async #answered(name: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#marker = `marker-${name}`;
    this.#marked = resolve;
    this.#sendWhole(
      optionsOf({ callId: this.#marker, theirTag: 'marker', port: this.#source?.address().port ?? 0 }),
    );
    await inTime(promise, `no answer behind message ${name}`);
  }

  /** Lets all pending work finish. */
  async #settle(): Promise<void> {
    const untilMs = systemClock.now() + PATIENCE_MS;
    for (;;) {
      await this.#clock.advance(OVER_MS);
      await systemClock.sleep(1);
      const { transactions, dialogs } = this.#server.metrics();
      if (transactions === 0 && dialogs === 0) return;
      if (systemClock.now() > untilMs)
        throw new Error(`left behind: ${transactions} transactions, ${dialogs} dialogs`);
    }
  }

  async #expectNormalCall(): Promise<void> {
    const caller = await openRawCaller(this.#server.sipPort);
    try {
      caller.request({ method: 'OPTIONS' });
      await caller.response(200, PATIENCE_MS);
      for (let n = 0; !caller.responses.some((response) => response === '200 INVITE'); n++) {
        if (n > 50) throw new Error(`the call afterwards was not answered: ${caller.responses.join(', ')}`);
        caller.request({ callId: `after-${n}`, body: DESCRIPTIONS[0]?.toString() ?? '' });
        await caller.next(
          ({ start, headers }) =>
            start.kind === 'response' &&
            start.status >= 200 &&
            header({ headers }, 'call-id') === `after-${n}`,
          PATIENCE_MS,
        );
      }
    } finally {
      caller.close();
    }
  }
}

function answerOrNull(sdp: string): string | null {
  try {
    return answerAudio(sdp, LOCAL).sdp;
  } catch {
    return null;
  }
}

async function inTime<T>(promise: Promise<T>, complaint: string): Promise<T> {
  const abort = new AbortController();
  const late = systemClock.sleep(PATIENCE_MS, abort.signal).then(() => Promise.reject(new Error(complaint)));
  late.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    abort.abort();
  }
}
