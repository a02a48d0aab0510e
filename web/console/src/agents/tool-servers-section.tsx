/** The agent's tool servers, and how their tools differ from those that were published. */
import { Anchor, Checkbox, Stack, Text } from '@mantine/core';
import { Link } from 'wouter';
import { useList, useRead } from '../api/queries.ts';
import type { PinnedToolServers, ToolServerList } from '../api/types.ts';
import { Section } from '../parts/page.tsx';
import { LoadedList } from '../parts/states.tsx';
import { countChanges, ToolChanges } from '../tool-servers/tool-changes.tsx';
import type { EditorProps } from './draft.ts';

type Server = ToolServerList['tool_servers'][number];

export function ToolServersSection({ config, set }: EditorProps) {
  const attached = config.tool_servers?.tool_server_ids ?? [];
  const list = useList<ToolServerList, Server>('/v1/agent/tool-servers', (answer) => answer.tool_servers, {
    page_size: 100,
  });
  return (
    <Section title="Tool servers">
      <LoadedList
        list={list}
        empty={
          <Text c="dimmed">
            There is no tool server yet.{' '}
            <Anchor component={Link} href="/tool-servers" underline="always">
              Add one
            </Anchor>{' '}
            and attach it here.
          </Text>
        }
      >
        {(servers) => (
          <Stack gap="sm">
            {servers.map((server) => (
              <Checkbox
                key={server.tool_server_id}
                className="break"
                label={server.name}
                description={stateOf(server)}
                disabled={!config.tools.enabled}
                checked={attached.includes(server.tool_server_id)}
                onChange={(event) =>
                  set('tool_servers', {
                    tool_server_ids: event.currentTarget.checked
                      ? [...attached, server.tool_server_id]
                      : attached.filter((id) => id !== server.tool_server_id),
                  })
                }
              />
            ))}
            <PublishedTools agentId={config.agent_id} />
          </Stack>
        )}
      </LoadedList>
    </Section>
  );
}

function stateOf({ listed_at, tool_count, url }: Server): string {
  const tools = tool_count === 1 ? '1 tool' : `${tool_count} tools`;
  return `${listed_at === null ? 'Its tools were not read yet' : tools} · ${url}`;
}

/** Tools that differ from those that callers' calls may use. */
function PublishedTools({ agentId }: { agentId: string }) {
  const pinned = useRead<PinnedToolServers>(`/v1/agent/agents/${agentId}/tool-servers`);
  const changed = pinned.data?.tool_servers.filter(({ changes }) => countChanges(changes) > 0) ?? [];
  return changed.map(({ tool_server_id, name, changes }) => (
    <Stack key={tool_server_id} gap="xs" role="group" aria-label={`Changes at ${name}`}>
      <Text size="sm">
        {name} no longer has its tools as they were published. Calls do without those that differ, until the
        agent is published again.
      </Text>
      <ToolChanges changes={changes} />
    </Stack>
  ));
}
