/**
 * A phone call over a vendor's media stream as a leg, on the media thread. The vendor is connected to a
 * control plane, which passes its messages on. Audio is sent in real time, a frame of 20 ms per slot, and
 * only while there is some: what was delayed on its way is made up for in the next pause.
 */
import WebSocket from 'ws';
import { fault } from '#config/errors.ts';
import { MAX_STREAM_MESSAGE_BYTES, STREAM_CLOSE, type StreamVendor } from '#protocol/media-streams.ts';
import { frameSamples } from '../dsp/frame.ts';
import { decodeG711, encodeG711 } from '../dsp/g711.ts';
import { FAR_FRAMES, FrameFifo } from '../leg/frame-fifo.ts';
import type { LegCloseReason, LegCommand } from '../leg/leg.ts';
import { LegAudio, type MediaShared } from '../leg/leg-audio.ts';
import type { StreamLegOptions } from '../leg/leg-factory.ts';
import type { PacedLeg } from '../leg/pacer.ts';
import type { OpenedLeg, TransportLeg } from '../leg/transport-leg.ts';
import { HeardAudio } from './heard-audio.ts';
import { PlivoStream } from './plivo-stream.ts';
import { TelnyxStream } from './telnyx-stream.ts';
import { TwilioStream } from './twilio-stream.ts';
import { MalformedMessage, type StreamEvent, type StreamFormat, type VendorStream } from './vendor-stream.ts';
import { VonageStream } from './vonage-stream.ts';

/** The vendor connects within a second of the answer; longer than the control plane waits for it. */
const START_TIMEOUT_MS = 15_000;
/** A balancer gives the next connection to another replica. */
const ELSEWHERE_MS = 20;
/** A vendor sends the caller's audio all the time; after this long without any the call is over. */
const MEDIA_TIMEOUT_MS = 30_000;
/** A slot later than this is skipped instead of sent in a burst. */
const MAX_SEND_LATENESS_MS = 100;
/** Time for the other side to confirm the end of the connection. */
const CLOSE_TIMEOUT_MS = 1_000;
/** Length of a keyed digit, ms: vendors do not say how long it was pressed. */
const DIGIT_MS = 100;

const VENDORS: Readonly<Record<StreamVendor, () => VendorStream>> = {
  twilio: () => new TwilioStream(),
  telnyx: () => new TelnyxStream(),
  vonage: () => new VonageStream(),
  plivo: () => new PlivoStream(),
};

/** Options of the leg beyond those of all legs. */
export interface StreamSessionOptions extends StreamLegOptions {
  readonly leg: number;
  readonly onClosed: () => void;
}

/** Joins the stream once the vendor has started it; throws `Fault('gateway_unreachable')` if it does not. */
export async function openStreamSession(
  options: StreamSessionOptions,
  shared: MediaShared,
): Promise<{ leg: TransportLeg; opened: OpenedLeg }> {
  const lastMs = shared.clock.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      const leg = await joinOnce(options, shared);
      return { leg, opened: leg.opened };
    } catch (error) {
      if (!(error instanceof Elsewhere) || shared.clock.now() > lastMs)
        throw fault('gateway_unreachable', {}, { cause: error });
      await shared.clock.sleep(ELSEWHERE_MS);
    }
  }
}

/** The vendor is connected to another replica of the control plane. */
class Elsewhere extends Error {}

function joinOnce(options: StreamSessionOptions, shared: MediaShared): Promise<StreamLeg> {
  const socket = new WebSocket(options.url, {
    headers: { authorization: `Bearer ${options.token}` },
    handshakeTimeout: START_TIMEOUT_MS,
    maxPayload: MAX_STREAM_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  const vendor = VENDORS[options.vendor]();
  return startedOn(socket, vendor, shared, (format) => {
    const connection = { socket, vendor, format };
    return new StreamLeg(options, connection, shared);
  });
}

/** Reads until the stream has started; the leg takes what follows, which may have come at once. */
function startedOn(
  socket: WebSocket,
  vendor: VendorStream,
  { clock }: Pick<MediaShared, 'clock'>,
  open: (format: StreamFormat) => StreamLeg,
): Promise<StreamLeg> {
  const { promise, resolve, reject } = Promise.withResolvers<StreamLeg>();
  const giveUp = (cause: unknown) => {
    timer.cancel();
    socket.terminate();
    reject(cause);
  };
  const timer = clock.after(START_TIMEOUT_MS, () => giveUp(new Error('the stream did not start')));
  socket.on('error', giveUp);
  socket.on('close', (code) => {
    const message = `the connection was closed with ${code}`;
    giveUp(code === STREAM_CLOSE.elsewhere ? new Elsewhere(message) : new Error(message));
  });
  socket.on('message', (data, isBinary) => {
    try {
      const event = vendor.read(messageOf(data, isBinary));
      if (event.type !== 'started') return;
      timer.cancel();
      socket.removeAllListeners('error').removeAllListeners('close').removeAllListeners('message');
      resolve(open(event.format));
    } catch (error) {
      giveUp(error);
    }
  });
  return promise;
}

interface Connection {
  readonly socket: WebSocket;
  readonly vendor: VendorStream;
  readonly format: StreamFormat;
}

class StreamLeg implements TransportLeg, PacedLeg {
  readonly opened: OpenedLeg;
  readonly #options: StreamSessionOptions;
  readonly #connection: Connection;
  readonly #shared: MediaShared;
  readonly #audio: LegAudio;
  readonly #heard: HeardAudio;
  readonly #fifo: FrameFifo;
  readonly #counts = { received: 0, sent: 0 };
  #lastMediaMs: number;
  /** Resolves when the connection has ended; null while the leg is open. */
  #closing: Promise<void> | null = null;

  constructor(options: StreamSessionOptions, connection: Connection, shared: MediaShared) {
    this.#options = options;
    this.#connection = connection;
    this.#shared = shared;
    const { rateHz } = connection.format;
    const originMs = shared.pacer.add(this);
    this.opened = { inRateHz: rateHz, outRateHz: rateHz, originMs, localPort: null, answerSdp: null };
    this.#fifo = new FrameFifo(frameSamples(rateHz), FAR_FRAMES);
    this.#heard = new HeardAudio((event) => this.#audio.emit(event));
    this.#audio = new LegAudio(
      {
        leg: options.leg,
        inRateHz: rateHz,
        outRateHz: rateHz,
        originMs,
        recording: options.recording,
        onPlayout: (event) => this.#heard.take(event, shared.clock.now()),
      },
      shared,
    );
    this.#lastMediaMs = shared.clock.now();
    const { socket } = connection;
    socket.on('message', (data, isBinary) => this.#receive(messageOf(data, isBinary)));
    socket.on('error', () => undefined);
    socket.on('close', (code) => void this.#end(reasonOf(code)));
    this.#audio.emit({ type: 'connected', atMs: this.#lastMediaMs });
  }

  command(command: LegCommand): void {
    if (this.#closing !== null) return;
    // After what the vendor keeps has been counted as heard or not.
    if (this.#audio.command(command)) {
      if (command.do === 'clear') this.#send(this.#connection.vendor.clear());
      return;
    }
    if (command.do === 'releaseStream')
      this.#audio.emit({ type: 'stream.released', atMs: this.#shared.clock.now(), rest: null });
    if (command.do === 'close')
      void this.#end('local', command.keepsDialog ? STREAM_CLOSE.left : STREAM_CLOSE.hungUp);
  }

  close(): Promise<void> {
    return this.#end('local', STREAM_CLOSE.left);
  }

  fail(error: unknown): void {
    this.#shared.log('error', 'the leg of a media stream failed and is closed', error);
    void this.#end('failed', STREAM_CLOSE.left);
  }

  tick(slot: number, dueMs: number): void {
    if (this.#closing !== null) return;
    const nowMs = this.#shared.clock.now();
    const lateMs = nowMs - dueMs;
    const kind = this.#fifo.pull(this.#audio.received, lateMs);
    const isInTime = lateMs <= MAX_SEND_LATENESS_MS && nowMs < this.#shared.speech.untilMs;
    const count = this.#audio.fillSent(dueMs, isInTime && this.#heard.canSend);
    if (count > 0 || this.#audio.sent.some((sample) => sample !== 0)) this.#sendFrame(nowMs);
    else this.#heard.endSlot(nowMs);
    this.#audio.endSlot(slot, dueMs, kind);
    if (nowMs - this.#lastMediaMs > MEDIA_TIMEOUT_MS) void this.#end('media_timeout', STREAM_CLOSE.hungUp);
  }

  #sendFrame(nowMs: number): void {
    const { sent } = this.#audio;
    const { vendor, format } = this.#connection;
    this.#send(vendor.audio(encode(sent, format)));
    this.#counts.sent += 1;
    const mark = this.#heard.sent(this.#audio.sentPosition, nowMs);
    if (mark !== null) this.#send(vendor.mark(mark));
  }

  #send(message: string | Uint8Array): void {
    const { socket } = this.#connection;
    if (socket.readyState === WebSocket.OPEN) socket.send(message);
  }

  #receive(message: string | Uint8Array): void {
    if (this.#closing !== null) return;
    try {
      this.#take(this.#connection.vendor.read(message));
    } catch (error) {
      if (!(error instanceof MalformedMessage)) throw error;
      this.#shared.log('warn', 'a media stream is closed: its vendor sent what cannot be read', error);
      void this.#end('remote', STREAM_CLOSE.hungUp);
    }
  }

  #take(event: StreamEvent): void {
    const nowMs = this.#shared.clock.now();
    if (event.type === 'audio') this.#hear(event.payload, nowMs);
    if (event.type === 'mark') this.#heard.returned(event.name, nowMs);
    if (event.type === 'digit')
      this.#audio.emit({
        type: 'digit',
        atMs: nowMs,
        digit: event.digit,
        durationMs: DIGIT_MS,
        source: 'stream',
      });
    if (event.type === 'stopped') void this.#end('remote', STREAM_CLOSE.hungUp);
  }

  /** The queue takes at most a frame at once. */
  #hear(payload: Uint8Array, nowMs: number): void {
    this.#lastMediaMs = nowMs;
    this.#counts.received += 1;
    const { rateHz } = this.#connection.format;
    const samples = decode(payload, this.#connection.format);
    this.#audio.hear(samples, nowMs - (samples.length * 1000) / rateHz);
    const frame = frameSamples(rateHz);
    for (let from = 0; from < samples.length; from += frame)
      this.#fifo.push(samples.subarray(from, from + frame));
  }

  /** Idempotent: the first reason counts. */
  #end(reason: LegCloseReason, code: number = STREAM_CLOSE.left): Promise<void> {
    if (this.#closing !== null) return this.#closing;
    const { socket } = this.#connection;
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const timer = this.#shared.clock.after(CLOSE_TIMEOUT_MS, () => socket.terminate());
    this.#closing = done;
    this.#shared.pacer.remove(this);
    this.#audio.close();
    const { received: packetsReceived, sent: packetsSent } = this.#counts;
    const stats = { packetsReceived, packetsLost: 0, packetsSent, jitterMs: 0 };
    this.#audio.emit({ type: 'closed', atMs: this.#shared.clock.now(), reason, stats });
    this.#options.onClosed();
    const closed = () => {
      timer.cancel();
      resolve();
    };
    if (socket.readyState === WebSocket.CLOSED) closed();
    else {
      socket.once('close', closed);
      socket.close(code);
    }
    return done;
  }
}

function messageOf(data: WebSocket.RawData, isBinary: boolean): string | Uint8Array {
  return isBinary ? (data as Buffer) : String(data);
}

function encode(samples: Int16Array, { encoding }: StreamFormat): Uint8Array {
  if (encoding === 'L16') return new Uint8Array(samples.slice().buffer);
  const bytes = new Uint8Array(samples.length);
  encodeG711(encoding, samples, bytes, 0);
  return bytes;
}

function decode(payload: Uint8Array, { encoding }: StreamFormat): Int16Array {
  if (encoding === 'L16') return new Int16Array(Uint8Array.from(payload).buffer);
  const samples = new Int16Array(payload.length);
  decodeG711(encoding, payload, samples);
  return samples;
}

/** A connection that broke, or a control plane that restarts, may be joined again. */
function reasonOf(code: number): LegCloseReason {
  return code === STREAM_CLOSE.noVendor || code === STREAM_CLOSE.replaced ? 'remote' : 'failed';
}
