/** Restricts a list to one agent. */
import { Select } from '@mantine/core';
import { useRead } from '../api/queries.ts';
import type { Agent } from '../api/types.ts';
import type { FilterState } from './filters.tsx';

export function AgentFilter({ filters, set }: FilterState<'agent_id'>) {
  const agents = useRead<{ agents: Agent[] }>('/v1/agent/agents', {
    query: { page_size: 100, include_archived: true },
  });
  return (
    <Select
      label="Agent"
      clearable
      searchable
      w={170}
      data={agents.data?.agents.map(({ agent_id, name }) => ({ value: agent_id, label: name })) ?? []}
      value={filters.agent_id || null}
      onChange={(value) => set('agent_id', value)}
    />
  );
}
