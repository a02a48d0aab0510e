/** A share of calls, and all versions, newest first; each can be restored into the draft. */
import { Group, Stack, Table, Text } from '@mantine/core';
import { call } from '../api/client.ts';
import { useChange, useList } from '../api/queries.ts';
import type { Agent, AgentConfig, Version, VersionList } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { dateTime } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { Empty, LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';
import { restorePatch } from './draft.ts';
import { DraftDiff } from './draft-diff.tsx';
import { publishedOf, ShareSection } from './share-section.tsx';

type Summary = VersionList['versions'][number];

export function VersionsTab({ agent, draft }: { agent: Agent; draft: AgentConfig }) {
  const path = `/v1/agent/agents/${agent.agent_id}`;
  const list = useList<VersionList, Summary>(`${path}/versions`, (answer) => answer.versions);
  const restore = useChange(
    async (number: number) => {
      const version = await call<Version>('GET', `${path}/versions/${number}`);
      await call('PATCH', `${path}/config`, restorePatch(version.config));
    },
    { touches: [path], done: 'The version is now the draft; publish it when it is ready' },
  );
  const published = publishedOf(list.rows ?? []);
  return (
    <Stack>
      {agent.has_unpublished_changes && (
        <Section title="The draft differs from the published version">
          <DraftDiff agent={agent} draft={draft} />
        </Section>
      )}
      {list.rows && list.rows.length > 0 && <ShareSection agent={agent} versions={list.rows} />}
      <LoadedList
        list={list}
        empty={<Empty title="Nothing published yet">Publish the draft to let this agent take calls.</Empty>}
      >
        {(versions) => (
          <DataTable label="Versions" heads={['Version', 'Title', 'Published', '']}>
            {versions.map((version) => (
              <Table.Tr key={version.version_number}>
                <Table.Td>
                  <Group gap="xs" wrap="nowrap">
                    <Text fw={600}>{version.version_number}</Text>
                    {version === published && <StateBadge state="live" />}
                    {version.for_share && <StateBadge state="draft" label="For a share" />}
                  </Group>
                </Table.Td>
                <Table.Td>{version.version_title ?? '–'}</Table.Td>
                <Table.Td>{dateTime(version.published_at)}</Table.Td>
                <Table.Td ta="right">
                  <ConfirmButton
                    size="xs"
                    title={`Restore version ${version.version_number} as the draft?`}
                    text={
                      'The current draft is replaced. Callers notice nothing until you publish it. ' +
                      'Secrets keep their current values.'
                    }
                    onConfirm={() => restore.mutate(version.version_number)}
                  >
                    Restore
                  </ConfirmButton>
                </Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )}
      </LoadedList>
    </Stack>
  );
}
