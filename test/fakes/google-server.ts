/**
 * A stand-in for Google's Gemini API, speaking its streaming protocol over a real socket: `POST
 * /v1beta/models/<model>:streamGenerateContent?alt=sse` is answered with `GenerateContentResponse` events of
 * text and `functionCall` parts; the last one carries the finish reason and `usageMetadata`.
 */
import type { ChatScript } from './openai-server.ts';
import { type SseAnswer, type SseServer, startSseServer } from './sse-server.ts';

/**
 * Starts the stand-in; point `GOOGLE_BASE_URL` at its `url`. Scripts are used in order; the last one repeats.
 */
export function startGoogleServer(scripts: readonly ChatScript[]): Promise<SseServer> {
  return startSseServer((_, index) =>
    answerOf(scripts[Math.min(index, scripts.length - 1)] ?? { pieces: [], toolCalls: [] }),
  );
}

function answerOf({ pieces, toolCalls }: ChatScript): SseAnswer {
  const calls = toolCalls.map((call) => ({
    functionCall: { name: call.name, args: JSON.parse(call.arguments) as unknown },
  }));
  const parts = [...pieces.map((text) => ({ text })), ...calls];
  const usageMetadata = {
    promptTokenCount: 12,
    cachedContentTokenCount: 8,
    candidatesTokenCount: parts.length,
    totalTokenCount: 12 + parts.length,
  };
  return {
    events: [
      ...parts.map((part) => event({ content: { role: 'model', parts: [part] }, index: 0 })),
      event({ finishReason: 'STOP', index: 0 }, usageMetadata),
    ],
    faultAt: 1,
    overloaded: `data: ${JSON.stringify({ error: OVERLOADED })}\n\n`,
  };
}

const OVERLOADED = { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' };

function event(candidate: object, usageMetadata?: object): string {
  const usage = usageMetadata ? { usageMetadata } : {};
  return `data: ${JSON.stringify({ candidates: [candidate], ...usage, modelVersion: 'stand-in' })}\n\n`;
}
