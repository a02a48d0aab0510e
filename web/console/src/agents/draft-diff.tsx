/** Differences between the published configuration and the draft, field by field. */
import { Stack, Text } from '@mantine/core';
import { useRead } from '../api/queries.ts';
import type { Agent, AgentConfig, Version, VersionList } from '../api/types.ts';
import { Loaded } from '../parts/states.tsx';
import { type Difference, differences } from './draft.ts';

export function DraftDiff({ agent, draft }: { agent: Agent; draft: AgentConfig }) {
  const path = `/v1/agent/agents/${agent.agent_id}/versions`;
  const versions = useRead<VersionList>(path, { query: { page_size: 1 } });
  const newest = versions.data?.versions[0]?.version_number;
  const live = useRead<Version>(newest === undefined ? null : `${path}/${newest}`);
  if (agent.publication_state === 'draft')
    return <Text c="dimmed">This agent was never published: everything is new.</Text>;
  return (
    <Loaded query={live}>{(version) => <Differences list={differences(version.config, draft)} />}</Loaded>
  );
}

/** Differences as a list, because setting names and values can be too long for a table. */
export function Differences({ list }: { list: readonly Difference[] }) {
  if (list.length === 0)
    return (
      <Text c="dimmed">
        The settings are the same; only attached tools or knowledge sources changed, or nothing.
      </Text>
    );
  return (
    <Stack component="dl" gap="sm" m={0}>
      {list.map(({ path, before, after }) => (
        <div key={path}>
          <Text component="dt" c="dimmed" className="mono">
            {path}
          </Text>
          <dd className="changed">
            <del className="diff-old">{before === '' ? '(empty)' : before}</del>{' '}
            <ins className="diff-new">{after === '' ? '(empty)' : after}</ins>
          </dd>
        </div>
      ))}
    </Stack>
  );
}
