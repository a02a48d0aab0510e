/**
 * A stand-in for Deepgram's other APIs: `WS /v1/speak`, and `POST /v1/listen` for recordings, answered from a
 * script.
 */
import { startVendorServer, toneFor, type VendorServer } from './vendor-sockets.ts';

/** An utterance of the transcript returned for every recording. */
interface ScriptedUtterance {
  readonly start: number;
  readonly end: number;
  readonly transcript: string;
  readonly speaker: number;
}

/** A running stand-in. */
export interface DeepgramSpeechServer extends VendorServer {
  /** Requests for recordings, in order of arrival. */
  readonly recordings: readonly { readonly query: URLSearchParams; readonly bytes: number }[];
  /** Sent after `Flush` instead of audio. */
  warning: string | null;
}

/** Starts the stand-in; a key other than this one is answered 401. */
export async function startDeepgramSpeechServer({
  apiKey,
  utterances = [],
}: {
  readonly apiKey?: string;
  readonly utterances?: readonly ScriptedUtterance[];
} = {}): Promise<DeepgramSpeechServer> {
  const recordings: { query: URLSearchParams; bytes: number }[] = [];
  const state = { warning: null as string | null };
  const server = await startVendorServer({
    mayEnter: (headers) => apiKey === undefined || headers.authorization === `Token ${apiKey}`,
    accept(connection) {
      if (connection.path !== '/v1/speak') return null;
      connection.say({
        type: 'Metadata',
        request_id: 'r',
        model_name: connection.query.get('model'),
        model_version: '1',
        model_uuid: 'm',
      });
      let text = '';
      return {
        onJson({ type, text: more }) {
          if (type === 'Speak') text += String(more);
          if (type === 'Close') connection.close(1000);
          if (type !== 'Flush') return;
          if (state.warning !== null)
            return connection.say({ type: 'Warning', description: state.warning, code: 'FLUSH_LIMIT' });
          const samples = toneFor(text, Number(connection.query.get('sample_rate')));
          const bytes = Buffer.from(samples.buffer);
          // Odd byte counts, because messages may split a sample.
          for (let at = 0; at < bytes.length; at += 2_001) connection.say(bytes.subarray(at, at + 2_001));
          connection.say({ type: 'Flushed', sequence_id: 0 });
          text = '';
        },
      };
    },
    answer(request, body, response) {
      const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://stand-in');
      if (request.method !== 'POST' || pathname !== '/v1/listen') return void response.writeHead(404).end();
      recordings.push({ query, bytes: body.length });
      const tellApart = query.get('diarize') === 'true';
      const results = {
        channels: [
          {
            ...(query.get('detect_language') === 'true'
              ? { detected_language: 'de', language_confidence: 0.9 }
              : {}),
            alternatives: [
              {
                transcript: utterances.map(({ transcript }) => transcript).join(' '),
                confidence: 0.99,
                words: [],
              },
            ],
          },
        ],
        utterances: utterances.map(({ speaker, ...rest }) => ({
          ...rest,
          channel: 0,
          confidence: 0.9,
          words: [],
          id: 'u',
          ...(tellApart ? { speaker } : {}),
        })),
      };
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ metadata: { request_id: 'r' }, results }));
    },
  });
  return Object.defineProperties(server as DeepgramSpeechServer, {
    recordings: { value: recordings },
    warning: { get: () => state.warning, set: (value) => Object.assign(state, { warning: value }) },
  });
}
