/**
 * A stand-in for AssemblyAI's live recognition (`WS /v3/ws`). It sends turns with interim words and ends each
 * turn twice (plain, then formatted). `ForceEndpoint` without words gets no answer. Like the vendor, it
 * refuses messages with less than 50 ms or more than a second of audio.
 */
import { Ear } from './ear.ts';
import { startVendorServer, type VendorServer } from './vendor-sockets.ts';

/** Behaviour of the stand-in. */
export interface AssemblyaiServerOptions {
  /** Transcripts in order, without capitals and punctuation. Default: `hello`. */
  readonly lines?: readonly string[];
  readonly apiKey?: string;
}

/** A running stand-in. */
export interface AssemblyaiServer extends VendorServer {
  /** Omits the formatted end of a turn. */
  isPlain: boolean;
  /** Omits the end of a turn. */
  isEndless: boolean;
  /** Sends an error, then closes with this code. */
  breakDown(code: number): void;
}

/** Starts the stand-in. */
export async function startAssemblyaiServer({
  lines = ['hello'],
  apiKey,
}: AssemblyaiServerOptions = {}): Promise<AssemblyaiServer> {
  const state = { isPlain: false, isEndless: false };
  const server = await startVendorServer({
    mayEnter: (headers) => apiKey === undefined || headers.authorization === apiKey,
    accept(connection) {
      if (connection.path !== '/v3/ws') return null;
      const rateHz = Number(connection.query.get('sample_rate'));
      const ear = new Ear(rateHz, 400);
      let order = 0;
      connection.say({ type: 'Begin', id: 's', expires_at: 0 });
      const line = () => lines[order % lines.length] ?? '';
      const turn = (flags: { end_of_turn: boolean; turn_is_formatted: boolean }) => {
        const spoken = flags.end_of_turn ? line() : (line().split(' ')[0] ?? '');
        const words = spoken.split(' ').map((text, index) => ({
          text,
          start: index * 200,
          end: index * 200 + 150,
          confidence: 1,
          word_is_final: flags.end_of_turn,
        }));
        const transcript = flags.end_of_turn ? spoken : '';
        connection.say({
          type: 'Turn',
          turn_order: order,
          end_of_turn_confidence: 0.5,
          utterance: '',
          transcript,
          words,
          ...flags,
        });
      };
      const end = () => {
        if (state.isEndless) return;
        turn({ end_of_turn: true, turn_is_formatted: false });
        if (!state.isPlain) turn({ end_of_turn: true, turn_is_formatted: true });
        order++;
        ear.reset();
      };
      return {
        onAudio(bytes) {
          const ms = bytes.length / 2 / (rateHz / 1_000);
          if (ms < 50 || ms > 1_000) {
            connection.say({ type: 'Error', error_code: 3007, error: 'Input Duration Violation' });
            return connection.close(3007);
          }
          const event = ear.hear(bytes);
          if (event === 'speaking') turn({ end_of_turn: false, turn_is_formatted: false });
          if (event === 'ended') end();
        },
        onJson({ type }) {
          if (type === 'ForceEndpoint' && ear.hasSpeech) end();
          if (type === 'Terminate') {
            connection.say({ type: 'Termination', audio_duration_seconds: 0, session_duration_seconds: 0 });
            connection.close(1000);
          }
        },
      };
    },
  });
  return Object.defineProperties(server as AssemblyaiServer, {
    isPlain: { get: () => state.isPlain, set: (value) => Object.assign(state, { isPlain: value }) },
    isEndless: { get: () => state.isEndless, set: (value) => Object.assign(state, { isEndless: value }) },
    breakDown: {
      value: (code: number) => {
        for (const connection of server.connections) {
          connection.say({ type: 'Error', error_code: code, error: 'a fault' });
          connection.close(code);
        }
      },
    },
  });
}
