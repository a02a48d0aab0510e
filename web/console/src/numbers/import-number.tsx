/**
 * Imports a number from the user's own carrier: authentication of its inbound calls, and the route for
 * outbound calls.
 */
import { Button, NativeSelect, SimpleGrid, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { call } from '../api/client.ts';
import { useChange } from '../api/queries.ts';

const FIELDS = {
  phone_number: '',
  label: '',
  inbound_auth_username: '',
  inbound_auth_password: '',
  termination_uri: '',
  termination_transport: 'auto',
  termination_from_domain: '',
  termination_auth_username: '',
  termination_auth_password: '',
};
type Field = keyof typeof FIELDS;
const TRANSPORTS = [
  { value: 'auto', label: 'UDP' },
  { value: 'tcp', label: 'TCP' },
  { value: 'tls', label: 'TLS, with encrypted audio' },
];

export function ImportNumber({ onDone }: { onDone: () => void }) {
  const [fields, setFields] = useState(FIELDS);
  const [addresses, setAddresses] = useState<string[]>([]);
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value.trim() !== ''));
  const create = useChange(
    () =>
      call('POST', '/v1/agent/phone-numbers', {
        provider: 'sip',
        ...given,
        inbound_allowed_addresses: addresses,
      }),
    {
      touches: ['/v1/agent/phone-numbers'],
      done: 'Imported; choose an agent to answer it',
      onDone,
    },
  );
  const input = (
    name: Field,
    label: string,
    more: { placeholder?: string; type?: string; required?: boolean } = {},
  ) => (
    <TextInput
      label={label}
      autoComplete="off"
      value={fields[name]}
      onChange={(event) => setFields({ ...fields, [name]: event.currentTarget.value })}
      {...more}
    />
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {input('phone_number', 'Number', { placeholder: '+14155550123', required: true })}
          {input('label', 'Label')}
        </SimpleGrid>
        <Text size="sm" c="dimmed">
          Inbound: allowed addresses, or a username and password, or both.
        </Text>
        <TagsInput
          label="Allowed addresses"
          placeholder="203.0.113.0/24"
          value={addresses}
          onChange={setAddresses}
          maxTags={32}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {input('inbound_auth_username', 'Username for inbound calls')}
          {input('inbound_auth_password', 'Password for inbound calls', { type: 'password' })}
        </SimpleGrid>
        <Text size="sm" c="dimmed">
          Outbound: leave empty for a number that only receives calls.
        </Text>
        {input('termination_uri', 'Your carrier’s address', { placeholder: 'sip.example.com:5060' })}
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <NativeSelect
            label="Transport"
            data={TRANSPORTS}
            value={fields.termination_transport}
            onChange={(event) => setFields({ ...fields, termination_transport: event.currentTarget.value })}
          />
          {input('termination_from_domain', 'Domain in From, if the carrier wants one', {
            placeholder: 'sip.your-company.com',
          })}
        </SimpleGrid>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {input('termination_auth_username', 'Username for outbound calls')}
          {input('termination_auth_password', 'Password for outbound calls', { type: 'password' })}
        </SimpleGrid>
        <Button type="submit" loading={create.isPending} disabled={fields.phone_number.trim() === ''}>
          Import
        </Button>
      </Stack>
    </form>
  );
}
