/** Sends a test event to the endpoint in the form, saved or not, and shows the answer. */
import { Button, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { call } from '../api/client.ts';
import type { TriedRequest } from '../api/types.ts';
import { TriedResult } from '../parts/tried-request.tsx';

/** Its key is the address, so that an answer disappears with the address that gave it. */
export function TestEvent({
  agentId,
  event,
  endpoint: { url, secret },
}: {
  agentId: string;
  event: 'call.ended' | 'call.inbound';
  /** Without a secret the API signs with the stored one. */
  endpoint: { readonly url: string; readonly secret?: string };
}) {
  const test = useMutation({
    mutationFn: () =>
      call<TriedRequest>('POST', `/v1/agent/agents/${agentId}/webhooks/test`, {
        event,
        url,
        ...(secret === undefined ? {} : { secret }),
      }),
  });
  return (
    <Stack gap="xs">
      <Button
        size="xs"
        variant="default"
        loading={test.isPending}
        disabled={url === ''}
        onClick={() => test.mutate()}
        aria-label={`Send a test event to ${url}`}
        style={{ alignSelf: 'flex-start' }}
      >
        Send a test event
      </Button>
      <TriedResult request={test} />
    </Stack>
  );
}
