/** One conversation whose agent has tool servers: the runner, and what a test controls of it. */
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import type { PlannedToolServer } from '#protocol/call-plan.ts';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import { ServerTools } from '#runtime/tools/server-tools.ts';
import { createToolRunner } from '#runtime/tools/tool-runner.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { testPlan } from '../test-plan.ts';

/** Opens a conversation; each has its own tokens unless they are given. */
export function openConversation(
  servers: readonly PlannedToolServer[],
  {
    clock = new ManualClock(),
    tokens = new McpTokens(clock),
    variables = () => ({}),
    allow = ['127.0.0.1'],
  } = {},
) {
  // DNS and connections are the platform's; the conversation's deadlines are the test's.
  const egress = createEgressGuard({ allow, clock: systemClock });
  const systemVariables = testPlan().system_variables;
  const serverTools = new ServerTools({
    servers,
    values: () => ({ variables: variables(), systemVariables }),
    egress,
    tokens,
    clock,
    logger: null,
  });
  const runner = createToolRunner({
    tools: [],
    variables,
    systemVariables,
    egress,
    clientTools: null,
    serverTools,
    clock,
  });
  const close = async () => {
    runner.close();
    await egress.close();
  };
  return { runner, serverTools, clock, close };
}
