/**
 * The tools of a simulated server in a simulated call. The client is the product's own, from the tool runner
 * to the protocol; only the network and the server are simulated.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import type { ChatRequest, LanguageModel } from '#runtime/llm/llm.ts';
import { ServerTools } from '#runtime/tools/server-tools.ts';
import { createToolRunner, type ToolRunner } from '#runtime/tools/tool-runner.ts';
import type { Random } from './random.ts';
import type { SimulatedClock } from './simulated-clock.ts';
import { SERVED, SimulatedToolServer, type ToolServerScene } from './simulated-tool-server.ts';

/** The sentence about the server in one request to the model. */
export interface ModelRequest {
  readonly atMs: number;
  /** Names of the server's tools that it offered. */
  readonly offered: readonly string[];
  /** Sentences about a server that cannot be reached. */
  readonly notices: readonly string[];
  /** Its last message, if that is a background tool's answer. */
  readonly event: string | null;
}

/** The server's tools in one call. */
export class ServedTools {
  readonly server: SimulatedToolServer;
  readonly requests: ModelRequest[] = [];
  readonly #clock: SimulatedClock;
  readonly #replies = new Set<string | undefined>();

  constructor(scene: ToolServerScene, parts: { clock: SimulatedClock; random: Random }) {
    this.#clock = parts.clock;
    this.server = new SimulatedToolServer(scene, parts);
  }

  /** Names of the tools for the model. */
  get names(): readonly string[] {
    return this.server.planned.tools.map(({ function_name }) => function_name);
  }

  /** Resolves when the first request is on its way: the library is loaded in real time. */
  async connecting(): Promise<void> {
    while (this.server.openRequests === 0) await nextRound();
  }

  /** These tools beside others, connected at once as a worker does while the phone rings. */
  beside(
    others: ToolRunner,
    { plan, clock }: { readonly plan: CallPlan; readonly clock: Clock },
  ): ToolRunner {
    const { egress } = this.server;
    const serverTools = new ServerTools({
      servers: plan.tool_servers,
      values: () => ({ variables: {}, systemVariables: plan.system_variables }),
      egress,
      tokens: new McpTokens(clock),
      clock,
      logger: null,
    });
    serverTools.start();
    const own = createToolRunner({
      tools: [],
      variables: () => ({}),
      systemVariables: plan.system_variables,
      // Only webhook tools use more of it.
      egress: egress as EgressGuard,
      clientTools: null,
      serverTools,
      clock,
    });
    return {
      get definitions() {
        return [...others.definitions, ...own.definitions];
      },
      get notice() {
        return own.notice ?? null;
      },
      traits: (name) => others.traits(name) ?? own.traits(name),
      run: (call, options) => (own.traits(call.toolName) ? own : others).run(call, options),
      close: () => {
        others.close();
        own.close();
      },
    };
  }

  /** The same model; its requests are noted. */
  watched(model: LanguageModel): LanguageModel {
    return {
      id: model.id,
      isCustom: model.isCustom,
      stream: (request) => {
        const { replyId, tools } = request;
        // Without any tool it is a summary; a second attempt is the same request.
        if (tools.length > 0 && !this.#replies.has(replyId))
          this.requests.push(noted(request, this.#clock.now()));
        this.#replies.add(replyId);
        return model.stream(request);
      },
    };
  }
}

function noted({ messages, tools }: ChatRequest, atMs: number): ModelRequest {
  const last = messages.at(-1)?.content ?? '';
  return {
    atMs,
    offered: tools.map(({ name }) => name).filter((name) => name.startsWith(SERVED)),
    notices: messages
      .filter(({ role, content }) => role === 'system' && content.includes('cannot be reached'))
      .map(({ content }) => content),
    event: last.startsWith('[The background tool') ? last : null,
  };
}
