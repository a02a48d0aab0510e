/** Sends one real request of a tool, and shows the response. */
import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client.ts';
import type { Tool, TriedRequest } from '../api/types.ts';
import { Section } from '../parts/page.tsx';
import { TriedResult } from '../parts/tried-request.tsx';

export function ToolTester({ tool, isDirty }: { tool: Tool; isDirty: boolean }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const test = useMutation({
    mutationFn: () =>
      call<TriedRequest>('POST', `/v1/agent/tools/${tool.tool_id}/test`, { arguments: values }),
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
        <TriedResult request={test} />
      </Stack>
    </Section>
  );
}
