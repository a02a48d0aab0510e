/**
 * The tools of MCP servers in one conversation. Their answers are material from elsewhere, like the answers
 * of webhook tools.
 */
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import { LIMITS } from '#config/limits.ts';
import type { PlannedToolServer } from '#protocol/call-plan.ts';
import type { McpTokens } from '#protocol/mcp-tokens.ts';
import { renderHeaders, type TemplateValues } from '#protocol/tool-template.ts';
import type { ToolDefinition } from '#runtime/llm/llm.ts';
import type { RawOutcome } from './raw-outcome.ts';
import { outcomeOf } from './server-answer.ts';
import { type PinnedTool, ServerLink } from './server-link.ts';

/** A tool of a server, for the tool runner. */
export interface ServedTool {
  readonly tool_type: 'mcp';
  readonly function_name: string;
  readonly execution_mode: PinnedTool['execution_mode'];
  readonly error_handling: 'passthrough';
  /** The most that a call may take, with progress. */
  readonly timeout_seconds: number;
}

/** Options of the tools. */
export interface ServerToolsOptions {
  readonly servers: readonly PlannedToolServer[];
  /** Values for placeholders in headers, read at every request. */
  readonly values: () => Omit<TemplateValues, 'arguments'>;
  readonly egress: Pick<EgressGuard, 'fetch'>;
  /** Tokens of servers with OAuth, shared with other conversations. */
  readonly tokens: McpTokens;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'> | null;
}

interface Entry {
  readonly link: ServerLink;
  readonly tool: PinnedTool;
  readonly served: ServedTool;
  readonly definition: ToolDefinition;
}

/** The servers' tools of one conversation. */
export class ServerTools {
  readonly #links: readonly ServerLink[];
  readonly #entries = new Map<string, Entry>();

  constructor({ servers, values, ...parts }: ServerToolsOptions) {
    this.#links = servers.map((server) => {
      const headers = () => renderHeaders(server.headers, { ...values(), arguments: {} });
      const link = new ServerLink({ server, headers, ...parts });
      for (const tool of server.tools) this.#entries.set(tool.function_name, entryOf(link, tool));
      return link;
    });
  }

  /** Connects to the servers; without it, a server is connected at the first call of one of its tools. */
  start(): void {
    for (const link of this.#links) link.start();
  }

  /** The tools to offer now, in the plan's order. */
  get definitions(): readonly ToolDefinition[] {
    return [...this.#entries.values()]
      .filter(({ link, tool }) => link.isOffered(tool))
      .map(({ definition }) => definition);
  }

  /** One sentence for the model about servers that cannot be reached; null when all can. */
  get notice(): string | null {
    const down = this.#links.filter((link) => link.isDown).map((link) => link.name);
    return down.length === 0
      ? null
      : `The tools of ${down.join(', ')} cannot be reached at the moment, ` +
          'so promise nothing that needs them.';
  }

  /** Null for a name that is none of a server's. */
  find(functionName: string): ServedTool | null {
    return this.#entries.get(functionName)?.served ?? null;
  }

  /** Throws when the server gives no answer. */
  async run(
    { function_name }: ServedTool,
    input: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<RawOutcome> {
    const entry = this.#entries.get(function_name);
    if (!entry) throw new Error(`no server has the tool ${function_name}`);
    return outcomeOf(await entry.link.call(entry.tool, input, signal));
  }

  close(): void {
    for (const link of this.#links) link.close();
  }
}

function entryOf(link: ServerLink, tool: PinnedTool): Entry {
  const { function_name, execution_mode, description, name } = tool;
  const inputSchema = JSON.parse(tool.input_schema) as Record<string, unknown>;
  return {
    link,
    tool,
    served: {
      tool_type: 'mcp',
      function_name,
      execution_mode,
      error_handling: 'passthrough',
      timeout_seconds: LIMITS.serverToolSeconds,
    },
    definition: { name: function_name, description: description || name, arguments: [], inputSchema },
  };
}
