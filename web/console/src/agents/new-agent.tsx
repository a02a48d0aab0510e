/** Creates an agent, empty or from a template, and opens its page. */
import { Group, Radio, SimpleGrid, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { AGENT_TEMPLATES } from '../../../../protocol/agent-templates.ts';
import { CreateForm } from '../parts/create-form.tsx';
import { createAgent } from './create-agent.ts';

const EMPTY = { id: 'empty', title: 'Empty', description: 'Write everything yourself.' };

export function NewAgent() {
  const [start, setStart] = useState(EMPTY.id);
  const [typed, setTyped] = useState<string | null>(null);
  const template = AGENT_TEMPLATES.find(({ id }) => id === start);
  const description = typed ?? template?.description ?? '';
  return (
    <CreateForm
      create={(name) =>
        createAgent({ name, description, config: template?.config ?? {}, tests: template?.tests ?? [] })
      }
      touches={['/v1/agent/agents', '/v1/agent/tests']}
      pageOf={(agent) => `/agents/${agent.agent_id}`}
      suggestedName={template?.title ?? ''}
    >
      <Textarea
        label="Description"
        description="For your team; callers never hear it."
        maxLength={2_000}
        autosize
        minRows={1}
        value={description}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <Radio.Group
        label="Start from"
        description="A template has a prompt, settings, variables and agent tests. You can change all of it."
        value={start}
        onChange={setStart}
      >
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" mt="xs">
          {[EMPTY, ...AGENT_TEMPLATES].map(({ id, title, description: about }) => (
            <Radio.Card key={id} value={id} className="choice">
              <Group wrap="nowrap" align="flex-start" gap="sm">
                <Radio.Indicator mt={2} />
                <div>
                  <Text size="sm" fw={600}>
                    {title}
                  </Text>
                  <Text size="sm" c="dimmed">
                    {about}
                  </Text>
                </div>
              </Group>
            </Radio.Card>
          ))}
        </SimpleGrid>
      </Radio.Group>
    </CreateForm>
  );
}
