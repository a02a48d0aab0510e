/** Publishing: shows what changes for callers, asks for a title and makes the draft live. */
import { Button, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { useChange } from '../api/queries.ts';
import type { Agent, AgentConfig, Version } from '../api/types.ts';
import { DraftDiff } from './draft-diff.tsx';

export function PublishButton({
  agent,
  draft,
  isDirty,
}: {
  agent: Agent;
  draft: AgentConfig;
  isDirty: boolean;
}) {
  const [isOpen, dialog] = useDisclosure(false);
  const [title, setTitle] = useState('');
  const path = `/v1/agent/agents/${agent.agent_id}`;
  const publish = useChange(
    () =>
      call<Version>('POST', `${path}/publish`, { version_title: title.trim() === '' ? null : title.trim() }),
    {
      touches: [path, '/v1/agent/agents'],
      done: 'Published: new calls get this version',
      onDone: () => {
        setTitle('');
        dialog.close();
      },
    },
  );
  return (
    <>
      <Button
        onClick={dialog.open}
        disabled={isDirty || !agent.has_unpublished_changes}
        title={isDirty ? 'Save the draft first' : undefined}
      >
        Publish…
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title={`Publish ${agent.name}`} size="lg" centered>
        <Stack>
          <Text size="sm">Running calls keep the version they began with. Changes:</Text>
          <DraftDiff agent={agent} draft={draft} />
          <TextInput
            label="Title of this version"
            placeholder="What is new, in a few words"
            maxLength={120}
            value={title}
            onChange={(event) => setTitle(event.currentTarget.value)}
          />
          <Button loading={publish.isPending} onClick={() => publish.mutate()}>
            Publish
          </Button>
        </Stack>
      </Modal>
    </>
  );
}
