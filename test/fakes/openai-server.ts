/**
 * A stand-in for an OpenAI-compatible server, speaking the real protocol over a real socket: `POST
 * /v1/chat/completions` (SSE), `POST /v1/audio/speech` (24 kHz PCM) and `POST /v1/audio/transcriptions` (WAV
 * in, JSON out).
 *
 * const vendor = await startOpenaiServer({ chat: [say('Hello.'), callTool('book', { day: 'Friday' })],
 * transcripts: ['hi there'] });
 * … point OPENAI_BASE_URL at vendor.url …
 * vendor.requests.at(-1)?.json        // what was requested
 * vendor.fault = { status: 429 };     // from now on
 * await vendor.close();
 *
 * Without delays it answers at once, so benchmarks measure the product and not the vendor.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenLocally } from './local-server.ts';

/** One scripted answer of the chat endpoint. */
export interface ChatScript {
  /** Answered with this status instead. */
  readonly refusal?: number;
  /** Each piece is sent as one SSE event. */
  readonly pieces: readonly string[];
  readonly toolCalls: readonly { readonly name: string; readonly arguments: string }[];
}

/** A text answer, streamed word by word. */
export function say(text: string): ChatScript {
  return { pieces: text.match(/\S+\s*/g) ?? [], toolCalls: [] };
}

/** A tool call, preceded by `text` if any. */
export function callTool(name: string, args: Readonly<Record<string, unknown>>, text = ''): ChatScript {
  return { ...say(text), toolCalls: [{ name, arguments: JSON.stringify(args) }] };
}

/** A fault for every request while it is set, or only for requests whose path ends in `path`. */
export type OpenaiFault = { readonly path?: string } & (
  | /** Answers with this status. */ { readonly status: number }
  | /** Accepts and says nothing: before the headers, or after the first piece. */ {
      readonly halfOpen: 'headers' | 'body';
    }
  | /** Destroys the socket: before answering, or after the first piece. */ {
      readonly cut: 'headers' | 'body';
    }
);

/** Behaviour of the stand-in. Lists are used in order; their last entry repeats. */
export interface OpenaiServerOptions {
  /** Scripted answers, or a function of the request's JSON body. Default: `OK.` */
  readonly chat?: readonly ChatScript[] | ((body: ChatBody) => ChatScript);
  /** Transcripts returned by `/audio/transcriptions`. Default: empty. */
  readonly transcripts?: readonly string[];
  /** Milliseconds of audio per word of `/audio/speech`. Default 200. */
  readonly wordMs?: number;
  /** 24 kHz audio returned by `/audio/speech` instead of tones. */
  readonly voice?: (text: string) => Int16Array;
  /** Delay of the first byte of every answer, ms. Default 0. */
  readonly firstByteMs?: number;
  /** Additional delay of the first byte of a chat answer, ms. Default 0. */
  readonly chatFirstByteMs?: number;
  /** Pause between pieces, ms. Default 0. */
  readonly pieceMs?: number;
  /** Further JSON documents by path, or a function that returns one. */
  readonly documents?: Readonly<Record<string, unknown>>;
  /** Tokens of every chat answer as reported. Default: its pieces. */
  readonly outputTokens?: number;
  /** When set, any other bearer token is answered 401. */
  readonly apiKey?: string;
}

/** The parts of a chat request that tests inspect. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content: unknown;
    readonly [field: string]: unknown;
  }[];
  readonly [field: string]: unknown;
}

/** One request as it arrived. */
interface SeenRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** The parsed body of a JSON request. */
  readonly json: Record<string, unknown> | null;
  /** True if the client disconnected before the answer was complete. */
  aborted: boolean;
}

/** A running stand-in. */
export interface OpenaiServer {
  /** For `OPENAI_BASE_URL`; ends in `/v1`. */
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  fault: OpenaiFault | null;
  close(): Promise<void>;
}

const SPEECH_RATE_HZ = 24_000;

/** Starts the stand-in on a free port of 127.0.0.1. */
export async function startOpenaiServer(options: OpenaiServerOptions = {}): Promise<OpenaiServer> {
  const requests: SeenRequest[] = [];
  let fault: OpenaiFault | null = null;
  let answered = 0;

  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const seen = await receive(request, response);
    requests.push(seen);
    if (options.apiKey !== undefined && request.headers.authorization !== `Bearer ${options.apiKey}`)
      return refuse(response, 401, 'Incorrect API key');
    if (strikes('headers', response)) return;
    if (options.firstByteMs) await pause(options.firstByteMs);
    if (seen.path.endsWith('/chat/completions')) return chat(seen.json as unknown as ChatBody, response);
    if (seen.path.endsWith('/audio/speech')) return speech(String(seen.json?.['input'] ?? ''), response);
    if (seen.path.endsWith('/audio/transcriptions')) return transcription(response);
    return document(seen.path, response);
  }

  function document(path: string, response: ServerResponse) {
    const found = options.documents?.[path];
    if (found === undefined) return refuse(response, 404, 'no such route');
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(typeof found === 'function' ? found() : found));
  }

  /** Applies the fault set for this place; returns true when it has ended the request. */
  function strikes(place: 'headers' | 'body', response: ServerResponse): boolean {
    if (fault === null || !(response.req.url ?? '').endsWith(fault.path ?? '')) return false;
    if ('status' in fault) {
      if (place === 'headers') refuse(response, fault.status, 'scripted');
      return place === 'headers';
    }
    if ('cut' in fault && fault.cut === place) response.destroy();
    return 'cut' in fault ? fault.cut === place : fault.halfOpen === place;
  }

  async function chat(body: ChatBody, response: ServerResponse) {
    const script =
      typeof options.chat === 'function'
        ? options.chat(body)
        : (scripted(options.chat, answered++) ?? say('OK.'));
    if (script.refusal !== undefined) return refuse(response, script.refusal, 'scripted');
    const head = {
      id: `chatcmpl-${requests.length}`,
      object: 'chat.completion.chunk',
      created: 0,
      model: body.model,
    };
    const event = (delta: object, finish: string | null = null) =>
      `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    const calls = script.toolCalls.map((call, index) => ({
      index,
      id: `call_${requests.length}_${index}`,
      type: 'function',
      function: call,
    }));
    const { outputTokens = script.pieces.length } = options;
    const usage = {
      prompt_tokens: 10,
      completion_tokens: outputTokens,
      total_tokens: 10 + outputTokens,
    };
    const events = [
      event({ role: 'assistant', content: '' }),
      ...script.pieces.map((content) => event({ content })),
      ...calls.map((call) => event({ tool_calls: [call] })),
      event({}, calls.length > 0 ? 'tool_calls' : 'stop'),
      `data: ${JSON.stringify({ ...head, choices: [], usage })}\n\n`,
      'data: [DONE]\n\n',
    ];
    if (options.chatFirstByteMs) await pause(options.chatFirstByteMs);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    await stream(response, events, 2);
  }

  async function speech(input: string, response: ServerResponse) {
    const words = input.split(/\s+/).filter((word) => word !== '');
    response.writeHead(200, { 'content-type': 'audio/pcm' });
    const voiced = options.voice?.(input);
    if (voiced) return void response.end(Buffer.from(voiced.buffer, voiced.byteOffset, voiced.byteLength));
    await stream(
      response,
      words.map((_, index) => tone(200 + 20 * (index % 10), options.wordMs ?? 200)),
      1,
    );
  }

  /** Sends the pieces; a body fault occurs after `faultAfter` of them. */
  async function stream(response: ServerResponse, pieces: readonly (string | Buffer)[], faultAfter: number) {
    for (const [index, piece] of pieces.entries()) {
      if (response.destroyed || (index === faultAfter && strikes('body', response))) return;
      if (index > 0 && options.pieceMs) await pause(options.pieceMs);
      response.write(piece);
      // Lets the bytes leave before a scripted fault destroys the socket.
      if (fault) await pause(20);
    }
    response.end();
  }

  function transcription(response: ServerResponse) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ text: scripted(options.transcripts, answered++) ?? '' }));
  }

  const { port, close } = await listenLocally(server);
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    get fault() {
      return fault;
    },
    set fault(value) {
      fault = value;
    },
    close,
  };
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const isJson = request.headers['content-type']?.startsWith('application/json') === true;
  const json = isJson ? (JSON.parse(body.toString()) as Record<string, unknown>) : null;
  const seen: SeenRequest = { path: request.url ?? '', headers: request.headers, body, json, aborted: false };
  response.on('close', () => {
    seen.aborted = !response.writableFinished;
  });
  return seen;
}

function refuse(response: ServerResponse, status: number, message: string) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'scripted', code: status } }));
}

function scripted<T>(list: readonly T[] | undefined, index: number): T | undefined {
  return list?.[Math.min(index, list.length - 1)];
}

const tones = new Map<string, Buffer>();

/** Computed once, so that benchmarks do not measure it. */
function tone(hz: number, ms: number): Buffer {
  const known = tones.get(`${hz} ${ms}`);
  if (known) return known;
  const samples = new Int16Array(Math.round((SPEECH_RATE_HZ * ms) / 1_000));
  for (let index = 0; index < samples.length; index++)
    samples[index] = Math.round(8_000 * Math.sin((2 * Math.PI * hz * index) / SPEECH_RATE_HZ));
  const made = Buffer.from(samples.buffer);
  tones.set(`${hz} ${ms}`, made);
  return made;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
