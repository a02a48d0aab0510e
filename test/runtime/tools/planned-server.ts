/** A tool server as a plan contains it, and the tools that are pinned in it. */
import type { PlannedToolServer } from '#protocol/call-plan.ts';
import { readServerTools } from '#protocol/server-tools.ts';
import type { FakeTool } from '#test/fakes/mcp-server.ts';

/** Pins these tools of a server under the prefix `desk`. */
export function plannedServer(
  url: string,
  pinned: readonly FakeTool[],
  changes: Partial<PlannedToolServer> = {},
): PlannedToolServer {
  const { tools } = readServerTools(
    pinned.map(({ name, description, inputSchema = { type: 'object' } }) => ({
      name,
      description,
      inputSchema,
    })),
  );
  return {
    tool_server_id: 'server',
    name: 'Desk',
    url,
    headers: [],
    oauth: null,
    timeout_seconds: 5,
    tools: tools.map((tool) => ({
      ...tool,
      function_name: `desk_${tool.name}`,
      execution_mode: 'blocking' as const,
    })),
    ...changes,
  };
}
