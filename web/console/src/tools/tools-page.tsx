/** Lists all tools and creates one. */
import { Button, Modal, SegmentedControl, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { call } from '../api/client.ts';
import { useList } from '../api/queries.ts';
import type { Tool, ToolList } from '../api/types.ts';
import { CreateForm } from '../parts/create-form.tsx';
import { dateTime, words } from '../parts/format.ts';
import { Page } from '../parts/page.tsx';
import { Empty, LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';

export default function ToolsPage() {
  const [search, setSearch] = useState('');
  const [wanted] = useDebouncedValue(search, 250);
  const [isOpen, dialog] = useDisclosure(false);
  const list = useList<ToolList, ToolList['tools'][number]>('/v1/agent/tools', (answer) => answer.tools, {
    search: wanted,
  });
  return (
    <Page
      title="Tools"
      intro="What agents can do during a call: use your servers, or the page of the caller."
      actions={
        <Button leftSection={<IconPlus size={16} />} onClick={dialog.open}>
          New tool
        </Button>
      }
    >
      <TextInput
        aria-label="Search tools"
        placeholder="Search by name"
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
        maw={320}
      />
      <LoadedList
        list={list}
        empty={
          <Empty
            title={wanted === '' ? 'No tools yet' : 'No tool matches'}
            action={<Button onClick={dialog.open}>Create a tool</Button>}
          >
            A webhook tool sends a request to your server; a client tool runs in the caller’s page.
          </Empty>
        }
      >
        {(tools) => (
          <DataTable label="Tools" heads={['Name', 'Kind', 'Address', 'Used by', 'Changed']}>
            {tools.map((tool) => (
              <Table.Tr key={tool.tool_id}>
                <Table.Td>
                  <Link className="row-link" href={`/tools/${tool.tool_id}`}>
                    {tool.name}
                  </Link>
                  <Text size="sm" c="dimmed" lineClamp={1}>
                    {tool.description}
                  </Text>
                </Table.Td>
                <Table.Td>{words(tool.tool_type)}</Table.Td>
                <Table.Td className="mono" maw={320}>
                  {tool.tool_type === 'webhook' ? `${tool.method} ${tool.url}` : '–'}
                </Table.Td>
                <Table.Td>{tool.used_by === 1 ? '1 agent' : `${tool.used_by} agents`}</Table.Td>
                <Table.Td>{dateTime(tool.updated_at)}</Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )}
      </LoadedList>
      <Modal opened={isOpen} onClose={dialog.close} title="New tool" centered>
        <NewTool />
      </Modal>
    </Page>
  );
}

function NewTool() {
  const [kind, setKind] = useState('webhook');
  const [url, setUrl] = useState('');
  return (
    <CreateForm
      create={(name) =>
        call<Tool>('POST', '/v1/agent/tools', {
          name,
          tool_type: kind,
          ...(kind === 'webhook' ? { url } : {}),
        })
      }
      touches={['/v1/agent/tools']}
      pageOf={(tool) => `/tools/${tool.tool_id}`}
    >
      <SegmentedControl
        aria-label="Kind"
        data={[
          { value: 'webhook', label: 'Webhook' },
          { value: 'client', label: 'In the caller’s page' },
        ]}
        value={kind}
        onChange={setKind}
      />
      {kind === 'webhook' && (
        <TextInput
          label="Address"
          type="url"
          required
          placeholder="https://example.com/orders"
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
      )}
    </CreateForm>
  );
}
