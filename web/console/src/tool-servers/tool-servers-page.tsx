/** Lists all tool servers and adds one. */
import { Button, Modal, Table, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { call } from '../api/client.ts';
import { useList } from '../api/queries.ts';
import type { ToolServer, ToolServerList } from '../api/types.ts';
import { CreateForm } from '../parts/create-form.tsx';
import { dateTime } from '../parts/format.ts';
import { Page } from '../parts/page.tsx';
import { Empty, LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';

const PATH = '/v1/agent/tool-servers';

export default function ToolServersPage() {
  const [isOpen, dialog] = useDisclosure(false);
  const list = useList<ToolServerList, ToolServerList['tool_servers'][number]>(
    PATH,
    (answer) => answer.tool_servers,
  );
  return (
    <Page
      title="Tool servers"
      intro="MCP servers whose tools agents use during a call."
      actions={
        <Button leftSection={<IconPlus size={16} />} onClick={dialog.open}>
          Add a server
        </Button>
      }
    >
      <LoadedList
        list={list}
        empty={
          <Empty title="No tool servers yet" action={<Button onClick={dialog.open}>Add a server</Button>}>
            A server offers its tools over MCP (streamable HTTP). Agents use them as they were published.
          </Empty>
        }
      >
        {(servers) => (
          <DataTable label="Tool servers" heads={['Name', 'Address', 'Tools', 'Used by', 'Last read']}>
            {servers.map((server) => (
              <Table.Tr key={server.tool_server_id}>
                <Table.Td>
                  <Link className="row-link" href={`/tool-servers/${server.tool_server_id}`}>
                    {server.name}
                  </Link>
                </Table.Td>
                <Table.Td className="mono" maw={320}>
                  {server.url}
                </Table.Td>
                <Table.Td className="tabular">{server.listed_at === null ? '–' : server.tool_count}</Table.Td>
                <Table.Td>{server.used_by === 1 ? '1 agent' : `${server.used_by} agents`}</Table.Td>
                <Table.Td>{server.listed_at === null ? 'Not yet' : dateTime(server.listed_at)}</Table.Td>
              </Table.Tr>
            ))}
          </DataTable>
        )}
      </LoadedList>
      <Modal opened={isOpen} onClose={dialog.close} title="Add a tool server" centered>
        <NewServer />
      </Modal>
    </Page>
  );
}

function NewServer() {
  const [url, setUrl] = useState('');
  return (
    <CreateForm
      create={(name) => call<ToolServer>('POST', PATH, { name, url: url.trim() })}
      touches={[PATH]}
      pageOf={(server) => `/tool-servers/${server.tool_server_id}`}
      isReady={url.trim() !== ''}
    >
      <TextInput
        label="Address"
        description="Credentials come next."
        type="url"
        required
        placeholder="https://example.com/mcp"
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
    </CreateForm>
  );
}
