/** Knowledge sources: upload, replace, delete. */
import { Button, FileButton, Group, Table, Text } from '@mantine/core';
import { IconUpload } from '@tabler/icons-react';
import { call } from '../api/client.ts';
import { useChange, useList } from '../api/queries.ts';
import type { KnowledgeList } from '../api/types.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { bytes, dateTime } from '../parts/format.ts';
import { Page } from '../parts/page.tsx';
import { Empty, LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';

type Source = KnowledgeList['knowledge_sources'][number];

const PATH = '/v1/agent/knowledge-sources';
const ACCEPTED = '.md,.txt,text/markdown,text/plain';

export default function KnowledgePage() {
  const list = useList<KnowledgeList, Source>(PATH, (answer) => answer.knowledge_sources);
  const upload = useChange((file: File) => call('POST', PATH, formOf(file)), {
    touches: [PATH],
    done: 'Uploaded. Attach it to an agent to use it.',
  });
  const button = (
    <FileButton accept={ACCEPTED} onChange={(file) => file && upload.mutate(file)}>
      {(props) => (
        <Button {...props} leftSection={<IconUpload size={16} />} loading={upload.isPending}>
          Upload a text
        </Button>
      )}
    </FileButton>
  );
  return (
    <Page
      title="Knowledge"
      intro={
        'Texts in which agents look things up: .md or .txt, up to 1 MB. Short ones become part of the ' +
        'prompt, long ones are searched at every turn.'
      }
      actions={button}
    >
      <LoadedList
        list={list}
        empty={
          <Empty title="No knowledge yet" action={button}>
            Upload opening hours, price lists or answers to common questions.
          </Empty>
        }
      >
        {(sources) => (
          <DataTable label="Knowledge sources" heads={['Name', 'Size', 'Parts', 'Revision', 'Changed', '']}>
            {sources.map((source) => (
              <Row key={source.knowledge_source_id} source={source} />
            ))}
          </DataTable>
        )}
      </LoadedList>
    </Page>
  );
}

function Row({ source }: { source: Source }) {
  const path = `${PATH}/${source.knowledge_source_id}`;
  const replace = useChange((file: File) => call('PATCH', path, formOf(file)), {
    touches: [PATH, '/v1/agent/agents'],
    done: 'Replaced. Agents use it once they are published again.',
  });
  const remove = useChange(() => call('DELETE', path), { touches: [PATH], done: 'Deleted' });
  return (
    <Table.Tr>
      <Table.Td>
        <Text fw={600}>{source.name}</Text>
        <Text size="sm" c="dimmed">
          {source.file_name}
        </Text>
      </Table.Td>
      <Table.Td className="tabular">{bytes(source.size_bytes)}</Table.Td>
      <Table.Td className="tabular">{source.chunk_count}</Table.Td>
      <Table.Td className="tabular">{source.revision_number}</Table.Td>
      <Table.Td>{dateTime(source.updated_at)}</Table.Td>
      <Table.Td>
        <Group gap="xs" wrap="nowrap" justify="flex-end">
          <FileButton accept={ACCEPTED} onChange={(file) => file && replace.mutate(file)}>
            {(props) => (
              <Button {...props} size="xs" variant="default" loading={replace.isPending}>
                Replace
              </Button>
            )}
          </FileButton>
          <ConfirmButton
            size="xs"
            title={`Delete ${source.name}?`}
            text="It must not be attached to any agent."
            onConfirm={() => remove.mutate()}
          >
            Delete
          </ConfirmButton>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

function formOf(file: File): FormData {
  const form = new FormData();
  form.set('source', file);
  return form;
}
