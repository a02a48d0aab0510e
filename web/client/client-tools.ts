/** Functions of the page that the agent may call, with their timeout. */
import { SessionError } from './events.ts';

/** A function of the page that the agent may call. Its return value is sent to the agent as JSON. */
export type ClientTool = (params: Record<string, unknown>) => unknown;

/** Outcome of a call: a result for the agent or an error for the page. */
export type ToolOutcome = { readonly result: unknown } | { readonly error: SessionError };

/**
 * Larger results do not fit a data channel message. The server would replace them; this check reports the
 * error earlier.
 */
const MAX_RESULT_CHARS = 60_000;

/** The tools of one conversation. */
export class ClientTools {
  readonly #tools: Map<string, ClientTool>;
  readonly #timeoutMs: number;

  constructor(tools: Readonly<Record<string, ClientTool>>, timeoutMs: number) {
    this.#tools = new Map(Object.entries(tools));
    this.#timeoutMs = timeoutMs;
  }

  register(name: string, tool: ClientTool): void {
    this.#tools.set(name, tool);
  }

  /** Runs a tool; never rejects. */
  async call(name: string, params: Readonly<Record<string, unknown>>): Promise<ToolOutcome> {
    const tool = this.#tools.get(name);
    if (!tool)
      return {
        error: new SessionError(
          'tool_failed',
          `The page has no tool named ${name}; pass it in clientTools or to registerClientTool`,
        ),
      };
    try {
      const result = await within(this.#timeoutMs, name, async () => tool({ ...params }));
      if ((JSON.stringify(result)?.length ?? 0) > MAX_RESULT_CHARS)
        return {
          error: new SessionError(
            'tool_failed',
            `The result of ${name} has more than ${MAX_RESULT_CHARS} characters; return less`,
          ),
        };
      return { result };
    } catch (error) {
      if (error instanceof SessionError) return { error };
      return {
        error: new SessionError('tool_failed', error instanceof Error ? error.message : String(error)),
      };
    }
  }
}

function within<Value>(ms: number, name: string, work: () => Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new SessionError('tool_timeout', `${name} returned no result within ${ms} ms`)),
      ms,
    );
    work()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
