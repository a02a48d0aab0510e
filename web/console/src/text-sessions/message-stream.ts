/**
 * Sends one message of a text session and reads the answer while the agent writes. If the connection breaks,
 * the message is repeated with its key: it is the same message, and runs and costs once.
 */
import { ApiError, request } from '../api/client.ts';
import { eventsOf } from '../api/event-stream.ts';
import type { TextAnswer } from '../api/types.ts';

/** A message on its way. */
export interface OutgoingMessage {
  readonly key: string;
  /** Null: the agent begins. */
  readonly content: string | null;
}

/** A tool that the agent uses meanwhile. */
export interface ToolNews {
  readonly tool_name: string;
  readonly status: 'started' | 'completed' | 'failed';
}

/** News of an answer that is being written. */
export interface AnswerNews {
  onText(piece: string): void;
  onTool(tool: ToolNews): void;
  /** False once the connection is broken, true once it stands again. */
  onConnection(isConnected: boolean): void;
}

/** Waits before a repetition, ms: doubled each time up to the longest. */
const RETRY_MS = 500;
const LONGEST_RETRY_MS = 8_000;

/** A new message; the key also works on pages without a secure context. */
export function newMessage(content: string | null): OutgoingMessage {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return { key: [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(''), content };
}

/** Resolves with the answer, however often the connection breaks. Rejects with the API's refusal. */
export async function sendMessage(
  sessionPath: string,
  message: OutgoingMessage,
  news: AnswerNews,
  signal: AbortSignal,
): Promise<TextAnswer> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      // Pieces sent before a repetition are lost, so further ones would be torn from them.
      const heard = attempt === 0 ? news : { ...news, onText: ignore, onTool: ignore };
      return await sendOnce(sessionPath, message, heard, signal);
    } catch (error) {
      if (signal.aborted || !isBroken(error)) throw error;
      news.onConnection(false);
      await pause(Math.min(RETRY_MS * 2 ** attempt, LONGEST_RETRY_MS), signal);
    }
  }
}

async function sendOnce(
  sessionPath: string,
  { key, content }: OutgoingMessage,
  news: AnswerNews,
  signal: AbortSignal,
): Promise<TextAnswer> {
  const body = { content, stream: true };
  const headers = { 'idempotency-key': key };
  const response = await request('POST', `${sessionPath}/messages`, body, { signal, headers });
  news.onConnection(true);
  for await (const { name, data } of eventsOf(response)) {
    if (name === 'delta') news.onText((data as { text: string }).text);
    if (name === 'tool') news.onTool(data as ToolNews);
    if (name === 'done') return data as TextAnswer;
    if (name === 'error') throw refusalOf(data);
  }
  throw new ApiError(0, 'The connection broke');
}

function refusalOf(data: unknown): ApiError {
  const { status, message, reason } = data as { status: number; message: string; reason?: string | null };
  return new ApiError(status, message, { reason: reason ?? null });
}

/** True if an answer may come all the same: nothing was heard, or a server on the way restarts. */
function isBroken(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true;
  return error.status === 0 || (error.status >= 502 && error.reason !== 'text_turn_failed');
}

/**
 * True if the message gets no answer for good, and costs nothing: it was refused, or its answer failed. After
 * any other error it may have been accepted, and only a repetition with its key is not a second message.
 */
export function isOver(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return (error.status >= 400 && error.status < 500) || error.reason === 'text_turn_failed';
}

function ignore(): void {}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}
