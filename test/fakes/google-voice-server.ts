/**
 * A stand-in for Google's Text-to-Speech: `POST /v1/text:synthesize`, and `/v1beta1` with marks, answered
 * with a WAV file in base64 in JSON. Like the vendor, it answers a wrong API key with 400, and fields that it
 * does not know as well. A word lasts 100 ms.
 */
import type { ServerResponse } from 'node:http';
import { wavHeader } from '#media/speech/audio/wav.ts';
import { startVendorServer, toneFor, type VendorServer } from './vendor-sockets.ts';

/** A request, as this stand-in accepts it. */
interface SynthesisRequest {
  readonly input: { readonly text?: string; readonly ssml?: string };
  readonly enableTimePointing?: readonly string[];
  readonly voice: { readonly languageCode: string; readonly name: string };
  readonly audioConfig: {
    readonly audioEncoding: string;
    readonly sampleRateHertz: number;
    readonly speakingRate?: number;
  };
}

/** Starts the stand-in. */
export async function startGoogleVoiceServer({
  apiKey,
}: {
  readonly apiKey?: string;
} = {}): Promise<VendorServer> {
  return startVendorServer({
    mayEnter: () => true,
    accept: () => null,
    messageOf: (body) => {
      const request = JSON.parse(String(body)) as SynthesisRequest;
      return { ...request, text: spokenOf(request) };
    },
    answer(request, body, response) {
      const isBeta = request.url === '/v1beta1/text:synthesize';
      if (request.method !== 'POST' || !(isBeta || request.url === '/v1/text:synthesize'))
        return void response.writeHead(404).end();
      if (apiKey !== undefined && request.headers['x-goog-api-key'] !== apiKey)
        return refuse(response, 'API key not valid. Please pass a valid API key.', 'API_KEY_INVALID');
      const asked = JSON.parse(String(body)) as SynthesisRequest;
      if (!isUnderstood(asked, isBeta))
        return refuse(response, 'Invalid JSON payload received.', 'BAD_REQUEST');
      const rateHz = asked.audioConfig.sampleRateHertz;
      const audio = Buffer.from(toneFor(spokenOf(asked), rateHz).buffer);
      const audioContent = Buffer.concat([wavHeader(rateHz, audio.length), audio]).toString('base64');
      response.setHeader('content-type', 'application/json; charset=UTF-8');
      const answer = JSON.stringify(
        { audioContent, ...(isBeta ? { timepoints: timepointsOf(asked) } : {}) },
        null,
        2,
      );
      response.write(answer.slice(0, 1_000));
      response.end(answer.slice(1_000));
    },
  });
}

function spokenOf({ input: { text, ssml = '' } }: SynthesisRequest): string {
  return (
    text ??
    ssml
      .replace(/<[^<>]*>/g, '')
      .replaceAll('&lt;', '<')
      .replaceAll('&amp;', '&')
  );
}

/** The time of each mark: the words before it. */
function timepointsOf({ input: { ssml = '' } }: SynthesisRequest): object[] {
  return [...ssml.matchAll(/<mark name="([^"]+)"\/>/g)].map((mark) => {
    const before = ssml.slice(0, mark.index).replace(/<[^<>]*>/g, '');
    return { markName: mark[1], timeSeconds: (before.match(/\S+/g)?.length ?? 0) / 10 };
  });
}

function isUnderstood({ input, voice, audioConfig, ...rest }: SynthesisRequest, isBeta: boolean): boolean {
  const { enableTimePointing, ...others } = rest;
  const { audioEncoding, sampleRateHertz, speakingRate = 1, ...unknown } = audioConfig;
  return (
    Object.keys({ ...others, ...unknown }).length === 0 &&
    Object.keys(input).join() === (isBeta ? 'ssml' : 'text') &&
    enableTimePointing?.join() === (isBeta ? 'SSML_MARK' : undefined) &&
    /^[a-z]{2,3}-[A-Z]{2}$/.test(voice.languageCode) &&
    voice.name.startsWith(`${voice.languageCode}-`) &&
    audioEncoding === 'LINEAR16' &&
    [8_000, 16_000, 24_000, 48_000].includes(sampleRateHertz) &&
    speakingRate >= 0.25 &&
    speakingRate <= 2
  );
}

function refuse(response: ServerResponse, message: string, reason: string): void {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'googleapis.com' }];
  response
    .writeHead(400, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { code: 400, message, status: 'INVALID_ARGUMENT', details } }));
}
