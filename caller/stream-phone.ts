/**
 * A phone whose calls a vendor brings as media streams, and the vendor's side of them: audio is played in
 * real time, after what was sent before.
 */
import WebSocket from 'ws';
import { systemClock } from '#base/clock.ts';
import { resample } from '#media/dsp/pcm.ts';
import { pace } from './pace.ts';
import { CALLER_RATE_HZ } from './scene.ts';
import { type Dialect, VENDORS, type VendorAccount, type VendorCall } from './vendor-dialects.ts';

const FRAME_MS = 20;

/** A call to a number of an account. */
export interface StreamDial extends VendorAccount {
  readonly vendor: keyof typeof VENDORS;
  /** Where the number sends its calls. */
  readonly voiceUrl: string;
  /** Where that is reached here: `http://host:port`. */
  readonly at: string;
  readonly from: string;
  readonly to: string;
}

/** A frame of the agent's voice as it is played. */
interface PlayedFrame {
  readonly atMs: number;
  /** Largest absolute sample. */
  readonly peak: number;
}

/** A call whose stream is at this address. */
interface StreamedCall {
  readonly call: VendorCall;
  readonly url: string;
}

/** Asks what to do with a call. */
export function askAboutCall(dial: StreamDial, callId = VENDORS[dial.vendor].newCallId()): Promise<Response> {
  const { headers, body } = VENDORS[dial.vendor].ask({ ...dial, callId });
  return fetch(`${dial.at}${new URL(dial.voiceUrl).pathname}`, { method: 'POST', headers, body });
}

/** Asks about a new call; the answer is the address of a stream, or the reason why it was rejected. */
export async function askForStream(dial: StreamDial): Promise<StreamedCall | { readonly rejected: string }> {
  const vendor = VENDORS[dial.vendor];
  const callId = vendor.newCallId();
  const response = await askAboutCall(dial, callId);
  const text = await response.text();
  if (!response.ok) throw new Error(`the voice URL answered ${response.status}: ${text}`);
  const answer = vendor.answer(text);
  if ('rejected' in answer) return answer;
  return { call: { ...dial, callId }, url: reachedAt(dial, answer.url) };
}

function reachedAt({ at }: StreamDial, address: string): string {
  return `${at.replace('http', 'ws')}${new URL(address).pathname}`;
}

/** Dials; resolves with the phone once the call is answered, or with the reason why it was rejected. */
export async function dialByStream(dial: StreamDial): Promise<StreamPhone | { readonly rejected: string }> {
  const asked = await askForStream(dial);
  return 'rejected' in asked ? asked : joined(dial, asked);
}

/** Joins the stream of a call at the address that an answer has. */
export function joinStream(dial: StreamDial & VendorCall, address: string): Promise<StreamPhone> {
  return joined(dial, { call: dial, url: reachedAt(dial, address) });
}

async function joined({ vendor }: StreamDial, call: StreamedCall): Promise<StreamPhone> {
  const socket = new WebSocket(call.url);
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return new StreamPhone(socket, call, VENDORS[vendor].dialect());
}

/** The phone in an answered call. */
export class StreamPhone {
  /** Where the stream was. */
  readonly url: string;
  /** Frames that were played to the caller. */
  readonly played: PlayedFrame[] = [];
  /** Resolves with true once the other side has ended the call, false if the phone has. */
  readonly over: Promise<boolean>;
  /** Most audio that has waited to be played, ms. */
  mostWaitingMs = 0;
  /** Called with each frame that is played, filled up with silence. */
  onPlayed: (samples: Int16Array) => void = () => undefined;
  readonly #stopPacing: () => void;
  readonly #socket: WebSocket;
  readonly #call: VendorCall;
  readonly #dialect: Dialect;
  /** To be played: audio, and names of marks. */
  #queue: (Int16Array | string)[] = [];
  /** To be said. */
  #saying: Int16Array = new Int16Array();
  #said: () => void = () => undefined;
  #sequence = 1;
  #hasHungUp = false;

  constructor(socket: WebSocket, { call, url }: StreamedCall, dialect: Dialect) {
    this.#socket = socket;
    this.#call = call;
    this.url = url;
    this.#dialect = dialect;
    for (const message of dialect.start(call)) this.#tell(message);
    this.#stopPacing = pace(FRAME_MS, () => this.#frame());
    this.over = new Promise((resolve) =>
      socket.once('close', () => {
        this.#stopPacing();
        this.#said();
        resolve(!this.#hasHungUp);
      }),
    );
    socket.on('error', () => undefined);
    socket.on('message', (data, isBinary) => this.#follow(data as Buffer, isBinary));
  }

  /** Says 8 kHz audio, then silence; resolves at the end of the audio. */
  speak(samples: Int16Array): Promise<void> {
    this.#saying = resample(samples, CALLER_RATE_HZ, this.#dialect.rateHz);
    return new Promise((resolve) => {
      this.#said = resolve;
    });
  }

  /** Says a frame and plays one. From the first call on, that is the pace of the call. */
  drive(samples: Int16Array): void {
    this.#stopPacing();
    this.#saying = samples;
    this.#frame();
  }

  /** Presses a key. */
  press(digit: string): void {
    this.#tell(this.#dialect.digit(digit));
  }

  /** Hangs up, once. */
  async hangUp(): Promise<void> {
    if (this.#socket.readyState === WebSocket.OPEN) {
      this.#hasHungUp = true;
      const stop = this.#dialect.stop(this.#call);
      if (stop) this.#tell(stop);
      this.#socket.close();
    }
    await this.over;
  }

  get #frameSamples(): number {
    return (this.#dialect.rateHz * FRAME_MS) / 1_000;
  }

  #frame(): void {
    const length = this.#frameSamples;
    const frame = new Int16Array(length);
    frame.set(this.#saying.subarray(0, length));
    if (this.#saying.length > 0 && this.#saying.length <= length) this.#said();
    this.#saying = this.#saying.subarray(length);
    this.#send(this.#dialect.audio(frame, ++this.#sequence));
    this.#play();
  }

  /** Plays 20 ms, or as much as there is; a mark is reached when the audio before it was played. */
  #play(): void {
    const frame = new Int16Array(this.#frameSamples);
    let left = frame.length;
    for (let item = this.#queue[0]; item !== undefined; item = this.#queue[0]) {
      if (typeof item === 'string') this.#tell(this.#dialect.mark(item));
      else {
        if (left === 0) break;
        const taken = item.subarray(0, left);
        frame.set(taken, frame.length - left);
        left -= taken.length;
        if (taken.length < item.length) {
          this.#queue[0] = item.subarray(taken.length);
          break;
        }
      }
      this.#queue.shift();
    }
    if (left === frame.length) return;
    const peak = frame.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    this.played.push({ atMs: systemClock.now(), peak });
    this.onPlayed(frame);
  }

  #follow(data: Buffer, isBinary: boolean): void {
    const told = this.#dialect.read(data, isBinary);
    if (told.do === 'play') this.#queue.push(told.samples);
    else if (told.do === 'mark') this.#queue.push(told.name);
    else {
      const marks = this.#queue.filter((item) => typeof item === 'string');
      this.#queue = [];
      if (this.#dialect.returnsCleared) for (const name of marks) this.#tell(this.#dialect.mark(name));
    }
    const waiting = this.#queue.reduce((sum, item) => sum + (typeof item === 'string' ? 0 : item.length), 0);
    this.mostWaitingMs = Math.max(this.mostWaitingMs, (waiting * FRAME_MS) / this.#frameSamples);
  }

  #tell(message: object): void {
    this.#send(JSON.stringify(message));
  }

  #send(message: string | Buffer): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(message);
  }
}
