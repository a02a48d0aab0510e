/**
 * How vendors of phone calls speak, from their documentation, for phones whose calls they bring as media
 * streams: the signed question about a call, its answer, and the messages of a stream in both directions.
 */
import { createHash, createHmac, createPrivateKey, randomBytes, sign } from 'node:crypto';
import { z } from 'zod';
import { decodeUlaw, encodeBlock } from './g711.ts';

/** The account of a customer at a vendor; `secret` signs. */
export interface VendorAccount {
  readonly account: string;
  /** Telnyx: the private key, PKCS #8 in PEM. */
  readonly secret: string;
}

/** A call, as the vendor knows it. */
export interface VendorCall extends VendorAccount {
  /** Where the number sends its calls. */
  readonly voiceUrl: string;
  readonly callId: string;
  readonly from: string;
  readonly to: string;
}

/** A signed request. */
export interface VendorQuestion {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** An instruction of the other side to the vendor. */
export type Instruction =
  | { readonly do: 'play'; readonly samples: Int16Array }
  | { readonly do: 'mark'; readonly name: string }
  | { readonly do: 'clear' };

/** One vendor, for one stream. */
export interface Dialect {
  readonly rateHz: 8000 | 16000;
  /** Whether marks come back of audio that was discarded. */
  readonly returnsCleared: boolean;
  start(call: VendorCall): readonly object[];
  audio(samples: Int16Array, sequence: number): string | Buffer;
  digit(digit: string): object;
  mark(name: string): object;
  /** The last message; null if the vendor only closes the connection. */
  stop(call: VendorCall): object | null;
  /** Reads an instruction; throws if it is not one of the vendor's. */
  read(data: Buffer, isBinary: boolean): Instruction;
}

/** A vendor: how it asks, and how it speaks. */
export interface Vendor {
  newCallId(): string;
  ask(call: VendorCall): VendorQuestion;
  /** The address of the stream in an answer, or the reason of a refusal. */
  answer(text: string): { readonly url: string } | { readonly rejected: string };
  dialect(): Dialect;
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const hex = () => randomBytes(16).toString('hex');
const ulaw = (payload: string) => Int16Array.from(Buffer.from(payload, 'base64'), decodeUlaw);
const json = (data: Buffer) => JSON.parse(data.toString('utf8')) as unknown;

function inXml(text: string, stream: RegExp, refusal: RegExp) {
  const rejected = refusal.exec(text)?.[1];
  if (rejected !== undefined) return { rejected };
  const url = stream.exec(text)?.[1];
  if (url === undefined) throw new Error(`no stream in ${text}`);
  return { url };
}

/** Reads what Twilio is told, and Telnyx in the same words; each message has these fields as well. */
function instructionReader(fields: z.ZodRawShape): (data: Buffer) => Instruction {
  const told = z.discriminatedUnion('event', [
    z.object({ ...fields, event: z.literal('media'), media: z.object({ payload: z.base64() }) }),
    z.object({ ...fields, event: z.literal('mark'), mark: z.object({ name: z.string() }) }),
    z.object({ ...fields, event: z.literal('clear') }),
  ]);
  return (data) => {
    const value = told.parse(json(data));
    if (value.event === 'clear') return { do: 'clear' };
    return value.event === 'mark'
      ? { do: 'mark', name: value.mark.name }
      : { do: 'play', samples: ulaw(value.media.payload) };
  };
}

/** Twilio: www.twilio.com/docs/usage/security, …/voice/media-streams/websocket-messages. */
const twilio: Vendor = {
  newCallId: () => `CA${hex()}`,
  ask({ account, secret, voiceUrl, callId, from, to }) {
    const form = { AccountSid: account, CallSid: callId, CallStatus: 'ringing', From: from, To: to };
    const fields = Object.entries(form).sort(([one], [other]) => (one < other ? -1 : 1));
    const text = voiceUrl + fields.map(([name, value]) => name + value).join('');
    const signature = createHmac('sha1', secret).update(text).digest('base64');
    const body = new URLSearchParams(form).toString();
    return { headers: { ...FORM, 'x-twilio-signature': signature }, body };
  },
  answer: (text) => inXml(text, /<Connect><Stream url="([^"]+)"\/><\/Connect>/, /<Reject reason="(\w+)"\/>/),
  dialect() {
    const streamSid = `MZ${hex()}`;
    return {
      rateHz: 8000,
      returnsCleared: true,
      start: ({ account, callId }) => [
        { event: 'connected', protocol: 'Call', version: '1.0.0' },
        {
          event: 'start',
          sequenceNumber: '1',
          start: {
            accountSid: account,
            streamSid,
            callSid: callId,
            tracks: ['inbound'],
            mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
            customParameters: {},
          },
          streamSid,
        },
      ],
      audio: (samples, sequence) =>
        JSON.stringify({
          event: 'media',
          sequenceNumber: String(sequence),
          media: {
            track: 'inbound',
            chunk: String(sequence),
            timestamp: String(sequence * 20),
            payload: encodeBlock(samples).toString('base64'),
          },
          streamSid,
        }),
      digit: (digit) => ({ event: 'dtmf', streamSid, dtmf: { track: 'inbound_track', digit } }),
      mark: (name) => ({ event: 'mark', streamSid, mark: { name } }),
      stop: ({ account, callId }) => ({
        event: 'stop',
        streamSid,
        stop: { accountSid: account, callSid: callId },
      }),
      read: instructionReader({ streamSid: z.literal(streamSid) }),
    };
  },
};

/** Telnyx: "Stream call media over WebSocket", "Receiving webhooks". */
const telnyx: Vendor = {
  newCallId: () => `v3:${hex()}`,
  ask({ secret, callId, from, to }) {
    const body = new URLSearchParams({ AccountSid: 'user', CallSid: callId, From: from, To: to }).toString();
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = sign(null, Buffer.from(`${timestamp}|${body}`), createPrivateKey(secret));
    const headers = {
      'telnyx-timestamp': timestamp,
      'telnyx-signature-ed25519': signature.toString('base64'),
    };
    return { headers: { ...FORM, ...headers }, body };
  },
  answer: (text) =>
    inXml(
      text,
      /<Connect><Stream url="([^"]+)" codec="PCMU" bidirectionalMode="rtp"/,
      /<Reject reason="(\w+)"\/>/,
    ),
  dialect() {
    const streamId = hex();
    return {
      rateHz: 8000,
      returnsCleared: true,
      start: ({ callId, from, to }) => [
        { event: 'connected', version: '1.0.0' },
        {
          event: 'start',
          sequence_number: '1',
          start: {
            user_id: 'user',
            call_control_id: callId,
            from,
            to,
            media_format: { encoding: 'PCMU', sample_rate: 8000, channels: 1 },
          },
          stream_id: streamId,
        },
      ],
      audio: (samples, sequence) =>
        JSON.stringify({
          event: 'media',
          sequence_number: String(sequence),
          media: {
            track: 'inbound',
            chunk: String(sequence),
            timestamp: String(sequence * 20),
            payload: encodeBlock(samples).toString('base64'),
          },
          stream_id: streamId,
        }),
      digit: (digit) => ({ event: 'dtmf', stream_id: streamId, dtmf: { digit } }),
      mark: (name) => ({ event: 'mark', stream_id: streamId, mark: { name } }),
      stop: ({ callId }) => ({
        event: 'stop',
        stream_id: streamId,
        stop: { user_id: 'user', call_control_id: callId },
      }),
      read: instructionReader({}),
    };
  },
};

/** Plivo: "Validating requests from Plivo" (V3), "Audio streaming", "Checkpoint event". */
const plivo: Vendor = {
  newCallId: () => hex(),
  ask({ secret, voiceUrl, callId, from, to }) {
    const form: Record<string, string> = {
      CallUUID: callId,
      From: from.replace('+', ''),
      To: to.replace('+', ''),
      Direction: 'inbound',
      CallStatus: 'ringing',
    };
    const nonce = hex();
    const fields = Object.keys(form)
      .sort()
      .map((name) => name + form[name]);
    const signature = createHmac('sha256', secret)
      .update(`${voiceUrl}?${fields.join('')}.${nonce}`)
      .digest('base64');
    const headers = { 'x-plivo-signature-v3': signature, 'x-plivo-signature-v3-nonce': nonce };
    return { headers: { ...FORM, ...headers }, body: new URLSearchParams(form).toString() };
  },
  answer: (text) =>
    inXml(
      text,
      /<Stream bidirectional="true" keepCallAlive="true" contentType="audio\/x-mulaw;rate=8000">([^<]+)</,
      /<Hangup reason="(\w+)"\/>/,
    ),
  dialect() {
    const streamId = hex();
    const told = z.discriminatedUnion('event', [
      z.object({
        event: z.literal('playAudio'),
        media: z.object({
          contentType: z.literal('audio/x-mulaw'),
          sampleRate: z.literal(8000),
          payload: z.base64(),
        }),
      }),
      z.object({ event: z.literal('checkpoint'), streamId: z.literal(streamId), name: z.string() }),
      z.object({ event: z.literal('clearAudio'), streamId: z.literal(streamId) }),
    ]);
    return {
      rateHz: 8000,
      returnsCleared: false,
      start: ({ account, callId }) => [
        {
          event: 'start',
          sequenceNumber: 1,
          start: {
            callId,
            streamId,
            accountId: account,
            tracks: ['inbound'],
            mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000 },
          },
          extra_headers: '',
        },
      ],
      audio: (samples, sequence) =>
        JSON.stringify({
          event: 'media',
          sequenceNumber: sequence,
          streamId,
          media: {
            track: 'inbound',
            timestamp: String(sequence * 20),
            chunk: sequence,
            payload: encodeBlock(samples).toString('base64'),
          },
        }),
      digit: (digit) => ({ event: 'dtmf', streamId, dtmf: { track: 'inbound', digit } }),
      mark: (name) => ({ event: 'playedStream', streamId, name }),
      stop: () => null,
      read(data) {
        const value = told.parse(json(data));
        if (value.event === 'clearAudio') return { do: 'clear' };
        return value.event === 'checkpoint'
          ? { do: 'mark', name: value.name }
          : { do: 'play', samples: ulaw(value.media.payload) };
      },
    };
  },
};

/** Vonage: "WebSockets in the Vonage Voice API", "Decoding signed webhooks", "NCCO reference". */
const vonage: Vendor = {
  newCallId: () => hex(),
  ask({ account, secret, callId, from, to }) {
    const body = JSON.stringify({ from: from.replace('+', ''), to: to.replace('+', ''), uuid: callId });
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = {
      iat: Math.floor(Date.now() / 1000),
      jti: hex(),
      iss: 'Vonage',
      payload_hash: createHash('sha256').update(body).digest('hex'),
      api_key: account,
    };
    const head = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
    const token = `${head}.${createHmac('sha256', secret).update(head).digest('base64url')}`;
    return { headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` }, body };
  },
  answer(text) {
    const actions = z
      .array(
        z.object({
          action: z.literal('connect'),
          endpoint: z.array(
            z.object({
              type: z.literal('websocket'),
              uri: z.string(),
              'content-type': z.literal('audio/l16;rate=16000'),
            }),
          ),
        }),
      )
      .parse(JSON.parse(text));
    const url = actions[0]?.endpoint[0]?.uri;
    return url === undefined ? { rejected: 'nothing' } : { url };
  },
  dialect() {
    const told = z.discriminatedUnion('action', [
      z.object({ action: z.literal('clear') }),
      z.object({ action: z.literal('notify'), payload: z.record(z.string(), z.unknown()) }),
    ]);
    return {
      rateHz: 16000,
      returnsCleared: false,
      start: () => [{ event: 'websocket:connected', 'content-type': 'audio/l16;rate=16000' }],
      audio: (samples) => Buffer.from(samples.slice().buffer),
      digit: (digit) => ({ event: 'websocket:dtmf', digit, duration: 260 }),
      mark: (name) => ({ event: 'websocket:notify', payload: JSON.parse(name) }),
      stop: () => null,
      read(data, isBinary) {
        if (isBinary) return { do: 'play', samples: new Int16Array(Uint8Array.from(data).buffer) };
        const value = told.parse(json(data));
        return value.action === 'clear'
          ? { do: 'clear' }
          : { do: 'mark', name: JSON.stringify(value.payload) };
      },
    };
  },
};

export const VENDORS = { twilio, telnyx, vonage, plivo } as const;
