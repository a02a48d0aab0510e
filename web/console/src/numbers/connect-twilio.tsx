/** Connects a number of the user's own Twilio account: its calls come over WebSocket, without a trunk. */
import { Button, Checkbox, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { call } from '../api/client.ts';
import { useChange } from '../api/queries.ts';

const FIELDS = { phone_number: '', label: '', account_sid: '', auth_token: '' };
type Field = keyof typeof FIELDS;

export function ConnectTwilio({ onDone }: { onDone: () => void }) {
  const [fields, setFields] = useState(FIELDS);
  const [replace, setReplace] = useState(false);
  const connect = useChange(
    () => call('POST', '/v1/agent/phone-numbers/connect-twilio', { ...fields, replace }),
    {
      touches: ['/v1/agent/phone-numbers'],
      done: 'Connected; choose an agent to answer it',
      onDone,
    },
  );
  const input = (name: Field, label: string, more: { placeholder?: string; type?: string } = {}) => (
    <TextInput
      label={label}
      autoComplete="off"
      required={name !== 'label'}
      value={fields[name]}
      onChange={(event) => setFields({ ...fields, [name]: event.currentTarget.value.trim() })}
      {...more}
    />
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    connect.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm" c="dimmed">
          Twilio then sends the calls of this number to PUBLIC_URL over WebSocket. It needs no trunk and no
          open port besides HTTPS.
        </Text>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {input('phone_number', 'Number', { placeholder: '+14155550123' })}
          {input('label', 'Label')}
          {input('account_sid', 'Account SID', { placeholder: 'AC…' })}
          {input('auth_token', 'Auth token', { type: 'password' })}
        </SimpleGrid>
        <Checkbox
          label="Also if its calls go elsewhere now"
          checked={replace}
          onChange={(event) => setReplace(event.currentTarget.checked)}
        />
        <Button type="submit" loading={connect.isPending}>
          Connect
        </Button>
      </Stack>
    </form>
  );
}
