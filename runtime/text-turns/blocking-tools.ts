/** The tools of a conversation without audio: the reply waits for each of them. */
import type { Clock } from '#base/clock.ts';
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import { LIMITS } from '#config/limits.ts';
import type { CallPlan, PlannedTool } from '#protocol/call-plan.ts';
import type { McpTokens } from '#protocol/mcp-tokens.ts';
import type { ClientTools } from '../tools/client-tool.ts';
import { ServerTools } from '../tools/server-tools.ts';
import { createToolRunner, type ToolRunner } from '../tools/tool-runner.ts';

/** Dependencies of the tools. */
export interface BlockingToolsDeps {
  readonly egress: EgressGuard;
  /** Of the tool servers. */
  readonly serverTokens: McpTokens;
  readonly clock: Clock;
  /** Null: servers that cannot be reached are not logged. */
  readonly logger: Pick<Logger, 'warn'> | null;
  /** Null: client tools are not offered. */
  readonly clientTools: ClientTools | null;
}

/** The plan's own tools as they run without audio. */
export function blockingTools({ tools }: Pick<CallPlan, 'tools'>): PlannedTool[] {
  return tools.map((tool) => ({
    ...tool,
    execution_mode: 'blocking' as const,
    timeout_seconds: Math.min(tool.timeout_seconds, LIMITS.toolTimeoutSeconds),
  }));
}

/** Creates the runner of a plan's tools. A server is connected at the first call of one of its tools. */
export function createBlockingRunner(plan: CallPlan, deps: BlockingToolsDeps): ToolRunner {
  const { variables, system_variables: systemVariables, tool_servers: servers } = plan;
  const { egress, serverTokens: tokens, clock, logger, clientTools } = deps;
  return createToolRunner({
    tools: blockingTools(plan),
    variables: () => variables,
    systemVariables,
    egress,
    clientTools,
    serverTools: new ServerTools({
      servers,
      values: () => ({ variables, systemVariables }),
      egress,
      tokens,
      clock,
      logger,
    }),
    clock,
  });
}
