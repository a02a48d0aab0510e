/** A new test of an agent's next reply: what the caller says, and what is expected. Tests of other kinds are made by API. */
import { Button, Stack, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { call } from '../api/client.ts';
import { useChange } from '../api/queries.ts';

export function NewTest({ agentId, onDone }: { agentId: string; onDone: () => void }) {
  const [name, setName] = useState('');
  const [says, setSays] = useState('');
  const [expectation, setExpectation] = useState('');
  const create = useChange(
    () =>
      call('POST', '/v1/agent/tests', {
        name,
        test_type: 'next_reply',
        agent_ids: [agentId],
        conversation: [{ role: 'user', text: says }],
        expectation,
      }),
    { touches: ['/v1/agent/tests'], done: 'The test is there; run it when you like', onDone },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput label="Name" required maxLength={200} data-autofocus value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <Textarea
          label="The caller says"
          required
          maxLength={2_000}
          autosize
          minRows={2}
          value={says}
          onChange={(event) => setSays(event.currentTarget.value)}
        />
        <Textarea
          label="You expect of the answer"
          required
          maxLength={400}
          autosize
          minRows={2}
          value={expectation}
          onChange={(event) => setExpectation(event.currentTarget.value)}
        />
        <Button type="submit" loading={create.isPending} disabled={name === '' || says === '' || expectation === ''}>
          Create
        </Button>
      </Stack>
    </form>
  );
}
