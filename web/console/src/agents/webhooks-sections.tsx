/**
 * Webhooks of an agent: the server that is called before a phone call, and the servers notified after every
 * conversation.
 */
import { Group, NumberInput, Stack, Switch, Text, TextInput } from '@mantine/core';
import type { AgentConfig } from '../api/types.ts';
import { Add, Remove } from '../parts/list-buttons.tsx';
import { Section } from '../parts/page.tsx';
import type { EditorProps } from './draft.ts';

/** An endpoint with the newly typed secret; the API never returns secrets. */
type EndpointInput<Endpoint> = Endpoint & { secret?: string };
type Init = NonNullable<AgentConfig['webhooks']['conversation_init']>;

const NO_INIT: Init = { url: '', has_secret: false, timeout_seconds: 5 };

export function PostCallWebhooks({ config, set }: EditorProps) {
  const endpoints: EndpointInput<AgentConfig['webhooks']['post_call'][number]>[] = config.webhooks.post_call;
  const change = (index: number, patch: { url?: string; secret?: string }) =>
    set('webhooks', {
      post_call: endpoints.map((endpoint, at) => (at === index ? { ...endpoint, ...patch } : endpoint)),
    });
  return (
    <Section
      title="Webhooks after a call"
      aside={
        <Add
          disabled={endpoints.length >= 5}
          onClick={() => set('webhooks', { post_call: [...endpoints, { url: '', has_secret: false }] })}
        />
      }
    >
      {endpoints.length === 0 && (
        <Text c="dimmed">
          No webhooks yet. Add an address to receive what was said and the outcome after each call.
        </Text>
      )}
      <Stack>
        {endpoints.map((endpoint, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an address being typed has no identity but its place.
          <Group key={index} align="flex-end" gap="xs">
            <TextInput
              label="Address"
              type="url"
              placeholder="https://example.com/calls"
              value={endpoint.url}
              onChange={(event) => change(index, { url: event.currentTarget.value })}
              style={{ flex: 2, minWidth: 220 }}
            />
            <Secret endpoint={endpoint} onChange={(secret) => change(index, { secret })} />
            <Remove
              label={endpoint.url}
              onClick={() => set('webhooks', { post_call: endpoints.filter((_, at) => at !== index) })}
            />
          </Group>
        ))}
      </Stack>
    </Section>
  );
}

export function InitWebhook({ config, set }: EditorProps) {
  const init: EndpointInput<Init> | null = config.webhooks.conversation_init;
  const change = (patch: Partial<EndpointInput<Init>>) =>
    set('webhooks', { conversation_init: { ...(init ?? NO_INIT), ...patch } });
  return (
    <Section
      title="Webhook before a phone call"
      aside={
        <Switch
          label="Call it"
          checked={init !== null}
          onChange={(event) =>
            set('webhooks', { conversation_init: event.currentTarget.checked ? NO_INIT : null })
          }
        />
      }
    >
      <Stack>
        <Text size="sm" c="dimmed">
          Your server receives the caller’s number and returns variables for this call. If it does not answer
          in time, the call begins with the defaults.
        </Text>
        {init && (
          <Group align="flex-end" gap="xs">
            <TextInput
              label="Address"
              type="url"
              placeholder="https://example.com/callers"
              value={init.url}
              onChange={(event) => change({ url: event.currentTarget.value })}
              style={{ flex: 2, minWidth: 220 }}
            />
            <Secret endpoint={init} onChange={(secret) => change({ secret })} />
            <NumberInput
              label="Timeout"
              suffix=" s"
              min={1}
              max={8}
              w={110}
              value={init.timeout_seconds}
              onChange={(value) => typeof value === 'number' && change({ timeout_seconds: value })}
            />
          </Group>
        )}
      </Stack>
    </Section>
  );
}

function Secret({
  endpoint,
  onChange,
}: {
  endpoint: EndpointInput<{ has_secret: boolean }>;
  onChange: (secret: string) => void;
}) {
  return (
    <TextInput
      label="Signing secret"
      type="password"
      autoComplete="off"
      placeholder={endpoint.has_secret ? 'Stored; type to replace' : 'None'}
      value={endpoint.secret ?? ''}
      onChange={(event) => onChange(event.currentTarget.value)}
      style={{ flex: 1, minWidth: 160 }}
    />
  );
}
