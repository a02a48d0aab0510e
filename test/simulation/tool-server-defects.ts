/** Seeded defects of the tools of MCP servers, in runtime/tools. */
import type { DefectRow } from './defects.ts';

export const TOOL_SERVER_DEFECTS: readonly DefectRow[] = [
  [
    'death-not-told',
    'the model promises things that need a dead server',
    'server-tools.ts',
    'return down.length === 0',
    'return down.length < 100',
  ],
  [
    'dead-tools-offered',
    'the model is offered the tools of a dead server',
    'server-link.ts',
    'return !this.isDown && (this.#unchanged?.has(tool.name) ?? true);',
    'return this.#unchanged?.has(tool.name) ?? true;',
  ],
  [
    'changed-tool-called',
    'a tool is called although its server has given it another meaning',
    'server-link.ts',
    'this.#unchanged = new Set(unchanged.map(({ name }) => name));',
    'this.#unchanged ??= new Set(unchanged.map(({ name }) => name));',
  ],
  [
    'never-tried-again',
    'a server that is back is not found',
    'server-link.ts',
    'this.#retry = null;\n        this.start();',
    'this.#retry = null;',
  ],
  [
    'retry-kept',
    'a dead server is tried after the call has ended',
    'server-link.ts',
    'this.#retry?.cancel();',
    '',
  ],
  [
    'call-sent-again',
    'a tool with effects runs twice after a failure',
    'server-link.ts',
    'throw error;\n    } finally {\n      timer.cancel();',
    'return await connection.callTool(tool, input, { signal, onProgress: () => undefined });\n' +
      '    } finally {\n      timer.cancel();',
  ],
  [
    'session-not-renewed',
    'a call fails because its session was gone',
    'server-link.ts',
    'if (!(error instanceof McpFailure && error.isSessionGone)) throw error;',
    'throw error;',
  ],
  [
    'interruption-untold',
    'the server works on for a caller who has interrupted',
    'server-link.ts',
    'signal: AbortSignal.any([signal, silence.signal]),',
    'signal: silence.signal,',
  ],
  [
    'progress-ignored',
    'a tool that says how far it is times out',
    'server-link.ts',
    'timer.cancel();\n          timer = wait();',
    '',
  ],
  [
    'result-uncut',
    'the model reads a result of any length',
    'server-answer.ts',
    'if (bytes.byteLength <= LIMITS.serverResultBytes) return',
    'if (bytes.byteLength > 0) return',
  ],
];
