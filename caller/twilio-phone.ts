/**
 * A phone whose calls Twilio brings, and Twilio's side of its media streams, from Twilio's documentation: the
 * signed question about a call (www.twilio.com/docs/usage/security), its answer in TwiML
 * (www.twilio.com/docs/voice/twiml/stream), and the messages of the stream, whose audio is played in real
 * time, after what was sent before (www.twilio.com/docs/voice/media-streams/websocket-messages).
 */
import { createHmac, randomBytes } from 'node:crypto';
import WebSocket from 'ws';
import { z } from 'zod';
import { systemClock } from '#base/clock.ts';
import { decodeUlaw, encodeBlock, ULAW_SILENCE } from './g711.ts';
import { pace } from './pace.ts';

const FRAME_MS = 20;
const FRAME_SAMPLES = 160;

/** An account at Twilio. */
export interface TwilioAccount {
  readonly accountSid: string;
  readonly authToken: string;
}

/** A call to a number of an account. */
export interface TwilioDial {
  readonly account: TwilioAccount;
  /** Where the number sends its calls. */
  readonly voiceUrl: string;
  readonly from: string;
  readonly to: string;
}

/** A frame of the agent's voice as it is played. */
export interface PlayedFrame {
  readonly atMs: number;
  readonly samples: Int16Array;
  /** Largest absolute sample. */
  readonly peak: number;
}

const instruction = z.discriminatedUnion('event', [
  z.object({ event: z.literal('media'), streamSid: z.string(), media: z.object({ payload: z.base64() }) }),
  z.object({ event: z.literal('mark'), streamSid: z.string(), mark: z.object({ name: z.string() }) }),
  z.object({ event: z.literal('clear'), streamSid: z.string() }),
]);

/** Signature of a request: over the URL and all fields sorted by name. */
export function signForTwilio(
  { authToken }: Pick<TwilioAccount, 'authToken'>,
  url: string,
  form: Readonly<Record<string, string>>,
): string {
  const fields = Object.entries(form).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHmac('sha1', authToken)
    .update(url + fields.map(([name, value]) => name + value).join(''))
    .digest('base64');
}

/** Asks what to do with a call; the fields are those of Twilio's voice webhook. */
export async function askAboutCall(
  { account, voiceUrl, from, to }: TwilioDial,
  callSid: string,
): Promise<Response> {
  const form = {
    AccountSid: account.accountSid,
    ApiVersion: '2010-04-01',
    CallSid: callSid,
    CallStatus: 'ringing',
    Direction: 'inbound',
    From: from,
    To: to,
  };
  return fetch(voiceUrl, {
    method: 'POST',
    headers: { 'x-twilio-signature': signForTwilio(account, voiceUrl, form) },
    body: new URLSearchParams(form),
  });
}

/** A new id of a call. */
export function newCallSid(): string {
  return `CA${randomBytes(16).toString('hex')}`;
}

/** A call whose stream is at this address. */
interface StreamedCall {
  readonly callSid: string;
  readonly url: string;
}

/** Asks about a new call; the answer is the address of a stream, or the reason why it was rejected. */
export async function askForStream(dial: TwilioDial): Promise<StreamedCall | { readonly rejected: string }> {
  const callSid = newCallSid();
  const response = await askAboutCall(dial, callSid);
  const twiml = await response.text();
  if (!response.ok) throw new Error(`the voice URL answered ${response.status}: ${twiml}`);
  const rejected = /<Reject reason="(\w+)"\/>/.exec(twiml)?.[1];
  if (rejected !== undefined) return { rejected };
  const url = /<Connect><Stream url="([^"]+)"\/><\/Connect>/.exec(twiml)?.[1];
  if (url === undefined) throw new Error(`no stream in ${twiml}`);
  return { callSid, url };
}

/** Dials; resolves with the phone once the call is answered, or with the reason why it was rejected. */
export async function dialTwilio(dial: TwilioDial): Promise<TwilioPhone | { readonly rejected: string }> {
  const call = await askForStream(dial);
  if ('rejected' in call) return call;
  const socket = new WebSocket(call.url);
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return new TwilioPhone(socket, { accountSid: dial.account.accountSid, ...call });
}

/** The phone in an answered call. */
export class TwilioPhone {
  /** Where the stream was. */
  readonly url: string;
  /** What was played to the caller, without silence. */
  readonly played: PlayedFrame[] = [];
  /** Resolves with true once the other side has ended the call, false if the phone has. */
  readonly over: Promise<boolean>;
  /** Called with each frame that is played, and with null for silence. */
  onFrame: (samples: Int16Array | null) => void = () => undefined;
  /** Most audio that has waited to be played, ms. */
  mostWaitingMs = 0;
  readonly #socket: WebSocket;
  readonly #ids: { readonly accountSid: string; readonly callSid: string; readonly streamSid: string };
  /** To be played: audio, and names of marks. */
  #queue: (Buffer | string)[] = [];
  /** To be said. */
  #saying = Buffer.alloc(0);
  #said: () => void = () => undefined;
  #sequence = 0;
  readonly #startMs = systemClock.now();
  readonly #stopPacing: () => void;
  #hasHungUp = false;

  constructor(socket: WebSocket, call: { accountSid: string; callSid: string; url: string }) {
    this.#socket = socket;
    this.url = call.url;
    const streamSid = `MZ${randomBytes(16).toString('hex')}`;
    const { accountSid, callSid } = call;
    this.#ids = { accountSid, callSid, streamSid };
    this.over = new Promise((resolve) =>
      socket.once('close', () => {
        this.#stopPacing();
        this.#said();
        resolve(!this.#hasHungUp);
      }),
    );
    socket.on('error', () => undefined);
    socket.on('message', (data) => this.#follow(String(data)));
    this.#send({ event: 'connected', protocol: 'Call', version: '1.0.0' });
    this.#tell('start', {
      start: {
        ...this.#ids,
        tracks: ['inbound'],
        mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
        customParameters: {},
      },
    });
    this.#stopPacing = pace(FRAME_MS, () => this.#frame());
  }

  /** Says 8 kHz audio, then silence; resolves at the end of the audio. */
  speak(samples: Int16Array): Promise<void> {
    this.#saying = Buffer.concat([this.#saying, encodeBlock(samples)]);
    return new Promise((resolve) => {
      this.#said = resolve;
    });
  }

  /** Presses a key. */
  press(digit: string): void {
    this.#tell('dtmf', { dtmf: { track: 'inbound_track', digit } });
  }

  /** Hangs up, once. */
  async hangUp(): Promise<void> {
    if (this.#socket.readyState === WebSocket.OPEN) {
      this.#hasHungUp = true;
      const { accountSid, callSid } = this.#ids;
      this.#tell('stop', { stop: { accountSid, callSid } });
      this.#socket.close();
    }
    await this.over;
  }

  #frame(): void {
    const payload = Buffer.alloc(FRAME_SAMPLES, ULAW_SILENCE);
    this.#saying.copy(payload);
    if (this.#saying.length > 0 && this.#saying.length <= FRAME_SAMPLES) this.#said();
    this.#saying = this.#saying.subarray(FRAME_SAMPLES);
    this.#tell('media', {
      media: {
        track: 'inbound',
        chunk: String(this.#sequence),
        timestamp: String(Math.round(systemClock.now() - this.#startMs)),
        payload: payload.toString('base64'),
      },
    });
    this.#play();
  }

  /** Plays 20 ms, or as much as there is; a mark is reached when the audio before it was played. */
  #play(): void {
    const frame: number[] = [];
    for (let item = this.#queue[0]; item !== undefined; item = this.#queue[0]) {
      if (typeof item === 'string') this.#tell('mark', { mark: { name: item } });
      else if (frame.length === FRAME_SAMPLES) break;
      else {
        const taken = item.subarray(0, FRAME_SAMPLES - frame.length);
        frame.push(...taken);
        if (taken.length < item.length) {
          this.#queue[0] = item.subarray(taken.length);
          break;
        }
      }
      this.#queue.shift();
    }
    if (frame.length === 0) {
      this.onFrame(null);
      return;
    }
    const samples = Int16Array.from(frame, decodeUlaw);
    const peak = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    this.played.push({ atMs: systemClock.now(), samples, peak });
    this.onFrame(samples);
  }

  #follow(text: string): void {
    const told = instruction.parse(JSON.parse(text));
    if (told.streamSid !== this.#ids.streamSid) throw new Error(`another stream: ${told.streamSid}`);
    if (told.event === 'media') this.#queue.push(Buffer.from(told.media.payload, 'base64'));
    else if (told.event === 'mark') this.#queue.push(told.mark.name);
    else {
      for (const item of this.#queue)
        if (typeof item === 'string') this.#tell('mark', { mark: { name: item } });
      this.#queue = [];
    }
    const waiting = this.#queue.reduce((sum, item) => sum + (typeof item === 'string' ? 0 : item.length), 0);
    this.mostWaitingMs = Math.max(this.mostWaitingMs, (waiting * FRAME_MS) / FRAME_SAMPLES);
  }

  #tell(event: string, content: object): void {
    const { streamSid } = this.#ids;
    this.#sequence += 1;
    this.#send({ event, sequenceNumber: String(this.#sequence), ...content, streamSid });
  }

  #send(message: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }
}
