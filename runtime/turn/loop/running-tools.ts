/** The tool calls of a conversation: starts, cancels and reports them to the turn machine. */

import { isHangUpCall } from '#protocol/hang-up-call.ts';
import type { ClientEvent } from '#protocol/session-events.ts';
import type { ToolCall } from '../../llm/llm.ts';
import { isTransferCall } from '../../tools/call-tools.ts';
import { isPressKeys } from '../../tools/press-keys.ts';
import type { ToolRunner } from '../../tools/tool-runner.ts';
import type { ToolMode, TurnFact } from '../machine/turn-inputs.ts';

/** A call's tools, created by the worker. */
export interface CallTools {
  readonly runner: ToolRunner;
  /** Delivers a web client's `client_tool.result`; null without a web client. */
  readonly settle: ((result: Extract<ClientEvent, { type: 'client_tool.result' }>) => void) | null;
}

/** What running a tool needs of its call. */
export interface RunningToolsOptions {
  readonly mayPressKeys: boolean;
  readonly runner: ToolRunner;
  /** Aborts every tool when the call ends. */
  readonly signal: AbortSignal;
  readonly accept: (fact: TurnFact) => void;
  /** A programming error. */
  readonly onBroken: (error: unknown) => void;
}

/** Tool calls in flight, by call id. */
export class RunningTools {
  readonly #options: RunningToolsOptions;
  readonly #running = new Map<string, AbortController>();

  constructor(options: RunningToolsOptions) {
    this.#options = options;
  }

  /** Runs a tool; its result comes back as `tool.finished`. */
  run(call: ToolCall): void {
    const running = new AbortController();
    this.#running.set(call.callId, running);
    void this.#options.runner
      .run(call, { signal: AbortSignal.any([this.#options.signal, running.signal]) })
      .finally(() => this.#running.delete(call.callId))
      .then(({ status, output, outputTruncated, error, latencyMs, modelText }) =>
        this.#options.accept({
          type: 'tool.finished',
          callId: call.callId,
          status,
          output,
          outputTruncated,
          error,
          latencyMs,
          modelText,
        }),
      )
      .catch((error: unknown) => this.#options.onBroken(error));
  }

  /** Cancels a tool that still runs. */
  cancel(callId: string): void {
    this.#running.get(callId)?.abort(new Error('the caller interrupted'));
  }

  /** How a tool runs and where it comes from. */
  traits(toolName: string): { mode: ToolMode; source: string } {
    if (isHangUpCall(toolName)) return { mode: 'hang_up', source: 'builtin' };
    if (isTransferCall(toolName)) return { mode: 'transfer', source: 'builtin' };
    if (this.#options.mayPressKeys && isPressKeys(toolName)) return { mode: 'keys', source: 'builtin' };
    return this.#options.runner.traits(toolName) ?? { mode: 'unknown', source: 'unknown' };
  }
}
