/**
 * Webhooks of an agent: the server that is called before a phone call, and the servers notified after every
 * conversation.
 */
import { Button, Group, NumberInput, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { AgentConfig } from '../api/types.ts';
import { Copy } from '../parts/copy.tsx';
import { Add, Remove } from '../parts/list-buttons.tsx';
import { Section } from '../parts/page.tsx';
import type { EditorProps } from './draft.ts';
import { TestEvent } from './test-event.tsx';

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
          <Stack key={index} gap="xs">
            <Group align="flex-end" gap="xs">
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
            <TestEvent key={endpoint.url} agentId={config.agent_id} event="call.ended" endpoint={endpoint} />
          </Stack>
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
          <>
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
            <TestEvent key={init.url} agentId={config.agent_id} event="call.inbound" endpoint={init} />
          </>
        )}
      </Stack>
    </Section>
  );
}

/** 256 random bits in hexadecimal. */
function newSecret(): string {
  return [...crypto.getRandomValues(new Uint8Array(32))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}

function Secret({
  endpoint,
  onChange,
}: {
  endpoint: EndpointInput<{ has_secret: boolean }>;
  onChange: (secret: string) => void;
}) {
  const [generated, setGenerated] = useState<string | null>(null);
  const secret = endpoint.secret ?? '';
  // A generated secret can be read: it has to be copied to the server that verifies signatures with it.
  const isGenerated = secret !== '' && secret === generated;
  const generate = () => {
    const made = newSecret();
    setGenerated(made);
    onChange(made);
  };
  return (
    <>
      <TextInput
        label="Signing secret"
        type={isGenerated ? 'text' : 'password'}
        autoComplete="off"
        placeholder={endpoint.has_secret ? 'Stored; type to replace' : 'None'}
        value={secret}
        onChange={(event) => onChange(event.currentTarget.value)}
        rightSection={isGenerated && <Copy value={secret} label="the secret" />}
        style={{ flex: 1, minWidth: 160 }}
      />
      <Button variant="default" onClick={generate}>
        Generate
      </Button>
    </>
  );
}
