/** Sends one real request of a tool, and shows the response. */
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
          Sends a real request of the saved tool{isDirty ? '; unsaved changes are not tested' : ''}.
          Placeholders in the address are not replaced.
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
        {test.data && <TestResult result={test.data} />}
      </Stack>
    </Section>
  );
}

function TestResult({ result }: { result: ToolTest }) {
  return (
    <Stack gap="xs" role="status">
      <Group gap="md">
        <Text fw={600}>{result.error ?? `Answered ${result.status_code}`}</Text>
        <Text c="dimmed">{milliseconds(result.latency_ms)}</Text>
        {result.response_truncated && <Text c="dimmed">truncated to 64 KB</Text>}
      </Group>
      {result.body !== '' && <pre className="block">{result.body}</pre>}
    </Stack>
  );
}
