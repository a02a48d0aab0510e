/**
 * A stand-in for ElevenLabs: `WS /v1/text-to-speech/{voice}/stream-input` with the time of every character,
 * `POST /v1/voices/add` and `DELETE /v1/voices/{id}`. As with the vendor, audio chunks split words, and times
 * are relative to the start of each chunk.
 *
 * const vendor = await startElevenlabsServer();
 * vendor.refusal = { error: 'quota_exceeded', message: '…' };   // instead of audio
 * vendor.voices                                                  // cloned and not deleted
 */
import { startVendorServer, toneFor, type VendorServer } from './vendor-sockets.ts';

/** A running stand-in. */
export interface ElevenlabsServer extends VendorServer {
  readonly voices: ReadonlyMap<string, { readonly form: string }>;
  refusal: { readonly error: string; readonly message: string } | null;
  /** Closes after the first audio chunk. */
  breaksOff: boolean;
}

/** Audio per message: not a whole number of words at 100 ms a word. */
const CHUNK_MS = 70;

/** Starts the stand-in; a key other than this one is answered 401. */
export async function startElevenlabsServer({
  apiKey,
}: {
  readonly apiKey?: string;
} = {}): Promise<ElevenlabsServer> {
  const voices = new Map<string, { form: string }>();
  const state = { refusal: null as ElevenlabsServer['refusal'], breaksOff: false };
  const server = await startVendorServer({
    mayEnter: (headers) => apiKey === undefined || headers['xi-api-key'] === apiKey,
    accept(connection) {
      if (!/^\/v1\/text-to-speech\/[^/]+\/stream-input$/.test(connection.path)) return null;
      let text = '';
      return {
        onJson(message) {
          if (message['text'] !== '') {
            text += String(message['text']);
            return;
          }
          if (state.refusal) {
            connection.say({ ...state.refusal, code: 1008 });
            connection.close(1008);
            return;
          }
          const rateHz = Number(connection.query.get('output_format')?.slice('pcm_'.length));
          for (const chunk of chunksOf(text.trimStart(), rateHz)) {
            connection.say(chunk);
            if (state.breaksOff) return connection.close(1011);
          }
          connection.say({ audio: null, isFinal: true, normalizedAlignment: null, alignment: null });
          connection.close(1000);
        },
      };
    },
    answer(request, body, response) {
      const json = (value: object) =>
        response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
      const id = request.url?.split('/').at(-1) ?? '';
      if (request.method === 'POST' && request.url === '/v1/voices/add') {
        const voice_id = `clone${voices.size + 1}`;
        voices.set(voice_id, { form: body.toString('latin1') });
        json({ voice_id, requires_verification: false });
      } else if (request.method === 'DELETE' && voices.delete(id)) json({ status: 'ok' });
      else response.writeHead(404).end();
    },
  });
  return Object.defineProperties(server as ElevenlabsServer, {
    voices: { value: voices },
    refusal: { get: () => state.refusal, set: (value) => Object.assign(state, { refusal: value }) },
    breaksOff: { get: () => state.breaksOff, set: (value) => Object.assign(state, { breaksOff: value }) },
  });
}

function chunksOf(text: string, rateHz: number): object[] {
  const samples = toneFor(text, rateHz);
  const size = (rateHz * CHUNK_MS) / 1_000;
  const msPerChar = (samples.length * 1_000) / rateHz / text.length;
  const chunks: object[] = [];
  for (let at = 0; at < samples.length; at += size) {
    const [fromMs, toMs] = [(at * 1_000) / rateHz, ((at + size) * 1_000) / rateHz];
    const chars = [...text]
      .map((char, index) => ({ char, ms: index * msPerChar }))
      .filter(({ ms }) => ms >= fromMs && ms < toMs);
    const alignment = {
      chars: chars.map(({ char }) => char),
      charStartTimesMs: chars.map(({ ms }) => Math.round(ms - fromMs)),
      charDurationsMs: chars.map(() => Math.round(msPerChar)),
    };
    const audio = Buffer.from(samples.slice(at, at + size).buffer).toString('base64');
    chunks.push({ audio, isFinal: null, normalizedAlignment: alignment, alignment });
  }
  return chunks;
}
