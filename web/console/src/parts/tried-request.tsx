/** The answer to a request that was sent to try a server. */
import { Group, Stack, Text } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import { messageOf } from '../api/queries.ts';
import type { TriedRequest } from '../api/types.ts';
import { milliseconds } from './format.ts';

/** Shows status, time and body, or why there is no answer; nothing before the first request. */
export function TriedResult({ request }: { request: UseMutationResult<TriedRequest, Error, void> }) {
  const { data, error } = request;
  if (error)
    return (
      <Text c="red" role="alert">
        {messageOf(error)}
      </Text>
    );
  if (!data) return null;
  return (
    <Stack gap="xs" role="status">
      <Group gap="md">
        <Text fw={600}>{data.error ?? `Answered ${data.status_code}`}</Text>
        <Text c="dimmed">{milliseconds(data.latency_ms)}</Text>
        {data.response_truncated && <Text c="dimmed">truncated to 64 KB</Text>}
      </Group>
      {data.body !== '' && <pre className="block">{data.body}</pre>}
    </Stack>
  );
}
