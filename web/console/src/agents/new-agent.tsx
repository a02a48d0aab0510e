/** Creates an agent, empty, from a template or from a sentence, and opens its page. */
import { Group, Radio, SimpleGrid, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { AGENT_TEMPLATES } from '../../../../protocol/agent-templates.ts';
import { messageOf, useRead } from '../api/queries.ts';
import type { Models } from '../api/types.ts';
import { CreateForm } from '../parts/create-form.tsx';
import { createAgent } from './create-agent.ts';
import { isComplete, type ReviewedSuggestion, SuggestAgent, suggestedFields } from './suggest-agent.tsx';

const EMPTY = { id: 'empty', title: 'Empty', description: 'Write everything yourself.' };
const SENTENCE = {
  id: 'sentence',
  title: 'A sentence',
  description: 'A language model suggests prompt, first message and tests.',
};
const NOTHING = { config: {}, tests: [] };

export function NewAgent() {
  const [start, setStart] = useState(EMPTY.id);
  const [typed, setTyped] = useState<string | null>(null);
  const [reviewed, setReviewed] = useState<ReviewedSuggestion | null>(null);
  const { data, error } = useRead<Models>('/v1/agent/models');
  const models = data?.llm;
  const hasModel = models?.some(({ id }) => id !== 'local/demo') ?? false;
  const isSentence = start === SENTENCE.id;
  const template = AGENT_TEMPLATES.find(({ id }) => id === start);
  const description = typed ?? template?.description ?? '';
  const fields = isSentence && reviewed ? suggestedFields(reviewed) : (template ?? NOTHING);
  return (
    <CreateForm
      create={(name) => createAgent({ name, description, config: fields.config, tests: fields.tests })}
      touches={['/v1/agent/agents', '/v1/agent/tests']}
      pageOf={(agent) => `/agents/${agent.agent_id}`}
      suggestedName={(isSentence ? reviewed?.name : template?.title) ?? ''}
      isReady={!isSentence || (reviewed !== null && isComplete(reviewed))}
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
          {[EMPTY, ...AGENT_TEMPLATES, ...(hasModel ? [SENTENCE] : [])].map((choice) => (
            <Radio.Card key={choice.id} value={choice.id} className="choice">
              <Group wrap="nowrap" align="flex-start" gap="sm">
                <Radio.Indicator mt={2} />
                <div>
                  <Text size="sm" fw={600}>
                    {choice.title}
                  </Text>
                  <Text size="sm" c="dimmed">
                    {choice.description}
                  </Text>
                </div>
              </Group>
            </Radio.Card>
          ))}
        </SimpleGrid>
      </Radio.Group>
      {error && (
        <Text c="var(--mantine-color-error)" size="sm" role="alert">
          The language models could not be read: {messageOf(error)}
        </Text>
      )}
      {models && !hasModel && (
        <Text size="sm" c="dimmed">
          To describe an agent in a sentence, give Parley a language model: run{' '}
          <code>ollama pull llama3.2</code>, or start it with OPENAI_API_KEY or another vendor’s key.
        </Text>
      )}
      {isSentence && <SuggestAgent reviewed={reviewed} onChange={setReviewed} />}
    </CreateForm>
  );
}
