/**
 * Tools that run in the caller's browser: a `client_tool.call` event goes out and a `client_tool.result`
 * returns. The tool runner enforces the tool's deadline through its signal.
 */
import type { PlannedTool } from '#protocol/call-plan.ts';
import type { AgentEvent, ClientEvent } from '#protocol/session-events.ts';
import type { RawOutcome } from './raw-outcome.ts';

/** Larger serialised results are replaced by an error. */
const RESULT_BYTES = 60 * 1024;

/** The browser's tools in one conversation. */
export interface ClientTools {
  /** Rejects with the signal's reason when it aborts first. */
  run(
    tool: PlannedTool,
    input: Readonly<Record<string, unknown>>,
    context: { readonly callId: string; readonly signal: AbortSignal },
  ): Promise<RawOutcome>;
  /** Accepts a `client_tool.result`; ignored for an unknown or finished call. */
  settle(result: Extract<ClientEvent, { type: 'client_tool.result' }>): void;
}

/** Creates the browser's tools; `send` delivers an event to the client. */
export function createClientTools(send: (event: AgentEvent) => void): ClientTools {
  const waiting = new Map<string, (outcome: RawOutcome) => void>();
  return {
    run(tool, input, { callId, signal }) {
      signal.throwIfAborted();
      send({
        type: 'client_tool.call',
        callId,
        toolName: tool.function_name,
        params: input,
        expectsResponse: tool.expects_response,
      });
      if (!tool.expects_response) return Promise.resolve(answered(null));
      return new Promise((resolve, reject) => {
        const onAbort = () => {
          waiting.delete(callId);
          reject(signal.reason);
        };
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.set(callId, (outcome) => {
          signal.removeEventListener('abort', onAbort);
          resolve(outcome);
        });
      });
    },
    settle(result) {
      const resolve = waiting.get(result.callId);
      if (!resolve) return;
      waiting.delete(result.callId);
      resolve(outcomeOf(result));
    },
  };
}

function outcomeOf(result: Extract<ClientEvent, { type: 'client_tool.result' }>): RawOutcome {
  const output = result.result === undefined ? null : asText(result.result);
  if (output !== null && Buffer.byteLength(output) > RESULT_BYTES)
    return failed(null, 'the result is too large');
  return result.isError === true ? failed(output, 'the client reported an error') : answered(output);
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function answered(output: string | null): RawOutcome {
  return { ok: true, output, outputTruncated: false, error: null };
}

function failed(output: string | null, error: string): RawOutcome {
  return { ok: false, output, outputTruncated: false, error };
}
