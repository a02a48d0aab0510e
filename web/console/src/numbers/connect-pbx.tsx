/** Connects a PBX: registers there with a username and a password, like a telephone. */
import { Button, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { call } from '../api/client.ts';
import { useChange } from '../api/queries.ts';
import type { PhoneNumber } from '../api/types.ts';

const FIELDS = {
  registrar: '',
  username: '',
  password: '',
  auth_username: '',
  outbound_proxy: '',
  label: '',
};
type Field = keyof typeof FIELDS;

const TRANSPORTS = [
  { value: 'auto', label: 'As its domain says' },
  { value: 'udp', label: 'UDP' },
  { value: 'tcp', label: 'TCP' },
  { value: 'tls', label: 'TLS' },
];

export function ConnectPbx({ numbers, onDone }: { numbers: readonly PhoneNumber[]; onDone: () => void }) {
  const [fields, setFields] = useState(FIELDS);
  const [transport, setTransport] = useState('auto');
  const [numberId, setNumberId] = useState<string | null>(null);
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value.trim() !== ''));
  const create = useChange(
    () => call('POST', '/v1/agent/sip-registrations', { ...given, transport, phone_number_id: numberId }),
    {
      touches: ['/v1/agent/sip-registrations', '/v1/agent/phone-numbers'],
      done: 'Registering; the state follows within seconds',
      onDone,
    },
  );
  const input = (name: Field, label: string, more: { placeholder?: string; type?: string } = {}) => (
    <TextInput
      label={label}
      autoComplete="off"
      value={fields[name]}
      onChange={(event) => setFields({ ...fields, [name]: event.currentTarget.value })}
      {...more}
    />
  );
  const isComplete = [fields.registrar, fields.username, fields.password].every((text) => text.trim() !== '');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const imported = numbers.filter(({ provider }) => provider === 'sip');
  return (
    <form onSubmit={submit}>
      <Stack>
        {input('registrar', 'Host', { placeholder: 'pbx.example.com' })}
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {input('username', 'Username', { placeholder: '204' })}
          {input('password', 'Password', { type: 'password' })}
        </SimpleGrid>
        <Select
          label="Number"
          description="The imported number whose agent answers; without one, callers hear busy."
          placeholder={imported.length > 0 ? 'None' : 'Import a number first'}
          clearable
          data={imported.map(({ phone_number_id, phone_number }) => ({
            value: phone_number_id,
            label: phone_number,
          }))}
          value={numberId}
          onChange={setNumberId}
        />
        <Text size="sm" c="dimmed">
          Only if your PBX needs them:
        </Text>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {input('auth_username', 'Name for the password')}
          {input('outbound_proxy', 'Outbound proxy', { placeholder: 'edge.example.com:5060' })}
          <Select
            label="Transport"
            allowDeselect={false}
            data={TRANSPORTS}
            value={transport}
            onChange={(value) => value && setTransport(value)}
          />
          {input('label', 'Label')}
        </SimpleGrid>
        <Button type="submit" loading={create.isPending} disabled={!isComplete}>
          Connect
        </Button>
      </Stack>
    </form>
  );
}
