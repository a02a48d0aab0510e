/**
 * Phone numbers: the agent that answers each; buying, importing and releasing numbers; connected
 * PBXs; phones that register here.
 */
import { Button, Group, Modal, Select, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { call } from '../api/client.ts';
import { useChange, useList, useRead } from '../api/queries.ts';
import type { Agent, PhoneNumber } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Copy } from '../parts/copy.tsx';
import { Page } from '../parts/page.tsx';
import { Empty, LoadedList } from '../parts/states.tsx';
import { DataTable } from '../parts/table.tsx';
import { BuyNumber } from './buy-number.tsx';
import { ConnectPbx } from './connect-pbx.tsx';
import { ConnectTwilio } from './connect-twilio.tsx';
import { ImportNumber } from './import-number.tsx';
import { PbxLines } from './pbx-lines.tsx';
import { AddPhone, Phones } from './phones.tsx';

const NUMBERS = '/v1/agent/phone-numbers';

interface NumberList {
  phone_numbers: PhoneNumber[];
  has_more: boolean;
  next_cursor: string | null;
}

export default function NumbersPage() {
  const [isBuying, buying] = useDisclosure(false);
  const [isImporting, importing] = useDisclosure(false);
  const [isConnecting, connecting] = useDisclosure(false);
  const [isAdding, adding] = useDisclosure(false);
  const [isStreaming, streaming] = useDisclosure(false);
  const list = useList<NumberList, PhoneNumber>(NUMBERS, (answer) => answer.phone_numbers);
  const agents = useRead<{ agents: Agent[] }>('/v1/agent/agents', { query: { page_size: 100 } });
  return (
    <Page
      title="Phone numbers"
      intro="Who answers which number."
      actions={
        <>
          <Button variant="default" onClick={adding.open}>
            Add a phone
          </Button>
          <Button variant="default" onClick={connecting.open}>
            Connect a PBX
          </Button>
          <Button variant="default" onClick={streaming.open}>
            Connect Twilio
          </Button>
          <Button variant="default" onClick={importing.open}>
            Import
          </Button>
          <Button onClick={buying.open}>Buy a number</Button>
        </>
      }
    >
      <LoadedList
        list={list}
        empty={
          <Empty title="No numbers yet" action={<Button onClick={buying.open}>Buy a number</Button>}>
            Buy one, connect one of your Twilio account, or import one from your own carrier over SIP.
          </Empty>
        }
      >
        {(numbers) => (
          <DataTable label="Phone numbers" heads={['Number', 'Answered by', 'Kind', 'Status', '']}>
            {numbers.map((number) => (
              <Row key={number.phone_number_id} number={number} agents={agents.data?.agents ?? []} />
            ))}
          </DataTable>
        )}
      </LoadedList>
      <PbxLines numbers={list.rows ?? []} />
      <Phones />
      <Modal
        opened={isAdding}
        onClose={adding.close}
        title="Add a phone that registers here"
        size="lg"
        centered
      >
        <AddPhone />
      </Modal>
      <Modal
        opened={isConnecting}
        onClose={connecting.close}
        title="Connect a PBX by a registration"
        size="lg"
        centered
      >
        <ConnectPbx numbers={list.rows ?? []} onDone={connecting.close} />
      </Modal>
      <Modal
        opened={isStreaming}
        onClose={streaming.close}
        title="Connect a number of your Twilio account"
        size="lg"
        centered
      >
        <ConnectTwilio onDone={streaming.close} />
      </Modal>
      <Modal opened={isBuying} onClose={buying.close} title="Buy a number" size="lg" centered>
        <BuyNumber onDone={buying.close} />
      </Modal>
      <Modal
        opened={isImporting}
        onClose={importing.close}
        title="Import a number over SIP"
        size="lg"
        centered
      >
        <ImportNumber onDone={importing.close} />
      </Modal>
    </Page>
  );
}

const VENDORS = { twilio: 'Twilio', telnyx: 'Telnyx', vonage: 'Vonage', plivo: 'Plivo' } as const;

function kindOf({ provider, media_stream }: PhoneNumber): string {
  if (media_stream) return `Connected to ${VENDORS[media_stream.vendor]}`;
  return provider === 'managed' ? 'Managed' : 'Imported over SIP';
}

function Row({ number, agents }: { number: PhoneNumber; agents: readonly Agent[] }) {
  const path = `${NUMBERS}/${number.phone_number_id}`;
  const bind = useChange((agent_id: string | null) => call('PATCH', path, { agent_id }), {
    touches: [NUMBERS],
    done: 'Applies from the next call',
  });
  const release = useChange(() => call('DELETE', path), { touches: [NUMBERS], done: 'Released' });
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap={4} wrap="nowrap">
          <Text fw={600} className="tabular">
            {number.phone_number}
          </Text>
          <Copy value={number.phone_number} label="the number" />
        </Group>
        <Text size="sm" c="dimmed">
          {number.label}
        </Text>
      </Table.Td>
      <Table.Td>
        <Select
          aria-label={`Agent that answers ${number.phone_number}`}
          placeholder="Nobody (busy)"
          clearable
          searchable
          w={220}
          data={agents.map(({ agent_id, name }) => ({ value: agent_id, label: name }))}
          value={number.agent_id}
          onChange={(id) => bind.mutate(id)}
        />
      </Table.Td>
      <Table.Td>
        {kindOf(number)}
        <Text size="sm" c="dimmed">
          {number.supports_outbound ? 'In and out' : 'Inbound only'}
        </Text>
      </Table.Td>
      <Table.Td>
        <StateBadge state={number.status} />
        <Text size="sm" c="dimmed">
          {number.status_detail}
        </Text>
      </Table.Td>
      <Table.Td ta="right">
        <ConfirmButton
          size="xs"
          title={`Release ${number.phone_number}?`}
          text="Calls to it are no longer answered, and a managed number may be given to somebody else."
          onConfirm={() => release.mutate()}
        >
          Release
        </ConfirmButton>
      </Table.Td>
    </Table.Tr>
  );
}
