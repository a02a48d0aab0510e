/** Has a language model suggest an agent from a sentence, and lets the user review every part of it. */
import { Button, Checkbox, Fieldset, Stack, Text, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { AgentTemplate } from '../../../../protocol/agent-templates.ts';
import { call } from '../api/client.ts';
import { messageOf } from '../api/queries.ts';
import type { AgentSuggestion } from '../api/types.ts';

type SuggestedTest = AgentSuggestion['tests'][number];

/** A suggestion as changed by the user. */
export interface ReviewedSuggestion extends Omit<AgentSuggestion, 'tests'> {
  readonly tests: readonly (SuggestedTest & { readonly isWanted: boolean })[];
}

/** Whether the agent has a prompt and a first message. */
export function isComplete({ system_prompt, first_message }: ReviewedSuggestion): boolean {
  return system_prompt.trim() !== '' && first_message.trim() !== '';
}

/** The configuration and the tests of the reviewed agent. */
export function suggestedFields(reviewed: ReviewedSuggestion): Pick<AgentTemplate, 'config' | 'tests'> {
  const { system_prompt, first_message, tests, model } = reviewed;
  return {
    config: {
      prompt: { system_prompt, first_message, first_message_mode: 'fixed' },
      tools: { system_tools: { hang_up_call: true } },
      llm: { model },
    },
    tests: tests
      .filter(({ isWanted }) => isWanted)
      .map(({ name, caller_says, expectation }) => ({
        name,
        test_type: 'next_reply',
        conversation: [
          { role: 'agent', text: first_message },
          { role: 'user', text: caller_says },
        ],
        expectation,
      })),
  };
}

export function SuggestAgent({
  reviewed,
  onChange,
}: {
  reviewed: ReviewedSuggestion | null;
  onChange: (reviewed: ReviewedSuggestion) => void;
}) {
  const [description, setDescription] = useState('');
  const suggest = useMutation({
    mutationFn: () => call<AgentSuggestion>('POST', '/v1/agent/agent-suggestions', { description }),
    onSuccess: ({ tests, ...rest }) =>
      onChange({ ...rest, tests: tests.map((test) => ({ ...test, isWanted: true })) }),
  });
  return (
    <Stack>
      <Textarea
        label="Describe your agent in a sentence"
        placeholder="Takes bookings for a hairdressing salon and answers questions about prices"
        maxLength={1_000}
        autosize
        minRows={2}
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
      <Button
        variant="default"
        loading={suggest.isPending}
        disabled={description.trim() === ''}
        onClick={() => suggest.mutate()}
        style={{ alignSelf: 'flex-start' }}
      >
        {suggest.isError ? 'Try again' : reviewed ? 'Suggest again' : 'Suggest'}
      </Button>
      {suggest.isError && (
        <Text c="var(--mantine-color-error)" size="sm" role="alert">
          {messageOf(suggest.error)}
        </Text>
      )}
      {reviewed && (
        <Fieldset variant="unstyled" disabled={suggest.isPending}>
          <Review reviewed={reviewed} onChange={onChange} />
        </Fieldset>
      )}
    </Stack>
  );
}

function Review({
  reviewed,
  onChange,
}: {
  reviewed: ReviewedSuggestion;
  onChange: (reviewed: ReviewedSuggestion) => void;
}) {
  return (
    <Stack>
      <Text size="sm" c="dimmed" role="status">
        Suggested by {reviewed.model}. Nothing is saved yet: read it, and change what is wrong.
      </Text>
      <Textarea
        label="System prompt"
        autosize
        minRows={4}
        maxRows={12}
        maxLength={100_000}
        value={reviewed.system_prompt}
        onChange={(event) => onChange({ ...reviewed, system_prompt: event.currentTarget.value })}
      />
      <Textarea
        label="First message"
        autosize
        minRows={1}
        maxLength={2_000}
        value={reviewed.first_message}
        onChange={(event) => onChange({ ...reviewed, first_message: event.currentTarget.value })}
      />
      {reviewed.tests.length > 0 && (
        <Stack gap="xs" role="group" aria-label="Agent tests">
          <Text size="sm" fw={600}>
            Agent tests
          </Text>
          {reviewed.tests.map((test, index) => (
            <Checkbox
              // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes its order.
              key={index}
              label={test.name}
              description={`Caller: “${test.caller_says}” Expected: ${test.expectation}`}
              checked={test.isWanted}
              onChange={(event) => {
                const isWanted = event.currentTarget.checked;
                onChange({
                  ...reviewed,
                  tests: reviewed.tests.map((each, at) => (at === index ? { ...each, isWanted } : each)),
                });
              }}
            />
          ))}
        </Stack>
      )}
    </Stack>
  );
}
