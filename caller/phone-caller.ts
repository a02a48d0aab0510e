/**
 * A phone caller: SIP over UDP, one codec, keys as telephone events. Each call uses two local ports,
 * signalling and media, from a range that a capture can watch.
 */
import { createSocket, type Socket } from 'node:dgram';
import type { TimedLine } from '#protocol/audible-timeline.ts';
import type { Caller, CallOutcome, CallRecord, CallRequest, SaidLine } from './caller.ts';
import { CODECS, type Codec } from './codecs.ts';
import { LineSound } from './line-sound.ts';
import { playScene } from './play-scene.ts';
import { type MediaRemote, RtpStream, type SentSpan } from './rtp-stream.ts';
import type { Line } from './scene.ts';
import { addressOf, SipCall } from './sip-call.ts';
import type { Credentials } from './sip-digest.ts';

/** Nothing received for this long: the peer is gone. */
const LOST_MS = 10_000;
const DIGIT_PAYLOAD_TYPE = 101;

/** Options of a phone caller. */
export interface PhoneCallerOptions {
  /** Local UDP ports; each call takes two. */
  readonly ports: PortRange;
  /** Default 127.0.0.1. */
  readonly localAddress?: string;
  /** User part of From, the caller's number. Default +15551230000. */
  readonly from?: string;
  /** For agents that require digest authentication. */
  readonly credentials?: Credentials;
  /** Further headers of the INVITE. */
  readonly headers?: readonly (readonly [string, string])[];
  /**
   * Sends audio from whichever address faces the peer, as most softphones do, although the offer names
   * `localAddress`.
   */
  readonly isMediaUnbound?: boolean;
}

/** UDP ports, inclusive. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

/** Places phone calls. */
export class PhoneCaller implements Caller {
  readonly #options: PhoneCallerOptions;
  /** First port to try next: those before it are usually in use. */
  #nextPort: number;

  constructor(options: PhoneCallerOptions) {
    this.#options = options;
    this.#nextPort = options.ports.first;
  }

  async call(request: CallRequest): Promise<CallRecord> {
    const localAddress = this.#options.localAddress ?? '127.0.0.1';
    const signalling = await this.#bind(localAddress);
    const any = localAddress.includes(':') ? '::' : '0.0.0.0';
    const media = await this.#bind(this.#options.isMediaUnbound ? any : localAddress);
    try {
      return await place({ request, signalling, media, localAddress, options: this.#options });
    } finally {
      signalling.close();
      media.close();
    }
  }

  /** A socket on a free port of the range. Throws if there is none. */
  async #bind(address: string): Promise<Socket> {
    const { first, last } = this.#options.ports;
    for (let tried = first; tried <= last; tried++) {
      const port = this.#nextPort;
      this.#nextPort = port === last ? first : port + 1;
      const socket = await bound(port, address);
      if (socket) return socket;
    }
    throw new Error(`no free UDP port from ${first} to ${last}`);
  }
}

interface CallSetup {
  readonly request: CallRequest;
  readonly signalling: Socket;
  readonly media: Socket;
  readonly localAddress: string;
  readonly options: PhoneCallerOptions;
}

async function place({ request, signalling, media, localAddress, options }: CallSetup): Promise<CallRecord> {
  const { scene, signal } = request;
  const ports = { signalling: signalling.address().port, media: media.address().port };
  const call = new SipCall(signalling, {
    target: request.target,
    from: options.from ?? '+15551230000',
    localAddress,
    ...(options.credentials ? { credentials: options.credentials } : {}),
    headers: options.headers ?? [],
  });
  const onAbort = () => call.cancel();
  signal?.addEventListener('abort', onAbort, { once: true });
  const codec = CODECS[scene.conditions.codec];
  const answer = await call.invite(offerSdp(localAddress, ports.media, codec));
  signal?.removeEventListener('abort', onAbort);
  if (answer.type === 'refused') {
    const outcome: CallOutcome = signal?.aborted
      ? { type: 'cancelled' }
      : { type: 'refused', status: answer.status, reason: answer.reason };
    const timeline = { agent: [], lines: [] };
    return { outcome, callId: call.callId, ports, lines: [], heard: new Int16Array(), timeline };
  }
  const network = { ...scene.conditions, random: scene.random };
  const stream = new RtpStream(media, { line: new LineSound(scene), network, codec });
  stream.start(remoteOf(answer.sdp, addressOf(request.target).host));
  call.onOffer((sdp) => {
    if (sdp !== '') stream.redirect(remoteOf(sdp, addressOf(request.target).host));
  });
  const lines: (SaidLine & TimedLine)[] = [];
  const listener = {
    onLine: request.onLine,
    onSaid: ({ text, means }: Line, span: SentSpan) => void lines.push({ text, means, ...span }),
  };
  const ending = Promise.race([
    playScene(scene, stream, listener, request.mind).then(() => 'caller' as const),
    call.hungUp.then(() => 'agent' as const),
    stream.until(() => stream.starvedForMs > LOST_MS, Number.POSITIVE_INFINITY).then(() => 'lost' as const),
    aborted(signal),
  ]);
  const hangUp = async (endedBy: 'caller' | 'agent' | 'lost') => {
    if (endedBy !== 'agent') await call.hangUp();
    stream.stop();
    call.close();
    return endedBy;
  };
  const endedBy = await ending.then(hangUp, async (error: unknown) => {
    await hangUp('caller');
    throw error;
  });
  const timeline = { agent: stream.agentStretches, lines };
  const outcome: CallOutcome = { type: 'answered', endedBy };
  return { outcome, callId: call.callId, ports, lines, heard: stream.heard(), timeline };
}

function aborted(signal: AbortSignal | undefined): Promise<'caller'> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve('caller');
    signal?.addEventListener('abort', () => resolve('caller'), { once: true });
  });
}

function offerSdp(address: string, port: number, { payloadType, encoding, clockHz }: Codec): string {
  const family = address.includes(':') ? 'IP6' : 'IP4';
  return [
    'v=0',
    `o=caller 1 1 IN ${family} ${address}`,
    's=-',
    `c=IN ${family} ${address}`,
    't=0 0',
    `m=audio ${port} RTP/AVP ${payloadType} ${DIGIT_PAYLOAD_TYPE}`,
    `a=rtpmap:${payloadType} ${encoding}`,
    `a=rtpmap:${DIGIT_PAYLOAD_TYPE} telephone-event/${clockHz}`,
    `a=fmtp:${DIGIT_PAYLOAD_TYPE} 0-16`,
    'a=ptime:20',
    'a=sendrecv',
    '',
  ].join('\r\n');
}

/** Media address of the answer. */
function remoteOf(sdp: string, fallbackAddress: string): MediaRemote {
  const audio = /^m=audio (\d+) \S+ .*$/m.exec(sdp);
  const connections = [...sdp.matchAll(/^c=IN IP[46] (\S+)/gm)];
  const digits = /^a=rtpmap:(\d+) telephone-event\/\d+/im.exec(sdp);
  return {
    address: connections.at(-1)?.[1] ?? fallbackAddress,
    port: Number(audio?.[1] ?? 0),
    digitPayloadType: digits ? Number(digits[1]) : null,
  };
}

/** A socket on this port; null if it is in use. */
async function bound(port: number, address: string): Promise<Socket | null> {
  const family = address.includes(':') ? 6 : 4;
  // Addresses from SDP are literals: no lookup per packet.
  const lookup = (
    host: string,
    _: unknown,
    callback: (error: null, address: string, family: number) => void,
  ) => callback(null, host, family);
  const socket = createSocket({ type: family === 6 ? 'udp6' : 'udp4', lookup: lookup as never });
  const isBound = await new Promise<boolean>((resolve) => {
    socket.once('error', () => resolve(false));
    socket.bind({ port, address, exclusive: true }, () => resolve(true));
  });
  if (isBound) return socket;
  socket.close();
  return null;
}
