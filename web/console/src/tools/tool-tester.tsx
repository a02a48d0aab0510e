/** Sends one real request of a tool and shows the response. */
import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { messageOf } from '../api/queries.ts';
import type { Tool, ToolTest } from '../api/types.ts';
import { milliseconds } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';

export function ToolTester({ tool, isDirty }: { tool: Tool; isDirty: boolean }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const test = useMutation({
    mutationFn: () => call<ToolTest>('POST', `/v1/agent/tools/${tool.tool_id}/test`, { arguments: values }),
  });
  return (
    <Section title="Try it">
      <Stack>
        <Text size="sm" c="dimmed">
          Sends a real request, as saved{isDirty ? ' (save your changes first to test them)' : ''}. The
          address is sent with its placeholders unfilled.
        </Text>
        {tool.arguments.map(({ name, description }) => (
          <TextInput
            key={name}
            label={name}
            description={description}
            value={values[name] ?? ''}
            onChange={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
            maw={420}
          />
        ))}
        <Button
          variant="default"
          loading={test.isPending}
          onClick={() => test.mutate()}
          style={{ alignSelf: 'flex-start' }}
        >
          Send the request
        </Button>
        {test.isError && (
          <Text c="red" role="alert">
            {messageOf(test.error)}
          </Text>
        )}
        {test.data && <Answer answer={test.data} />}
      </Stack>
    </Section>
  );
}

function Answer({ answer }: { answer: ToolTest }) {
  return (
    <Stack gap="xs" role="status">
      <Group gap="md">
        <Text fw={600}>{answer.error ?? `Answered ${answer.status_code}`}</Text>
        <Text c="dimmed">{milliseconds(answer.latency_ms)}</Text>
        {answer.response_truncated && <Text c="dimmed">cut at 64 KB</Text>}
      </Group>
      {answer.body !== '' && <pre className="block">{answer.body}</pre>}
    </Stack>
  );
}
