/** Access to the agent, embedding, spending limits and deletion. */
import { Button, Group, NumberInput, Stack, Switch, TagsInput, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { Agent, AgentLimits } from '../api/types.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Copy } from '../parts/copy.tsx';
import { Section } from '../parts/page.tsx';
import { Loaded } from '../parts/states.tsx';

export function AccessTab({ agent }: { agent: Agent }) {
  const path = `/v1/agent/agents/${agent.agent_id}`;
  const limits = useRead<AgentLimits>(`${path}/limits`);
  return (
    <Stack>
      <Profile agent={agent} />
      <PublicAccess agent={agent} />
      <Section title="Limits">
        <Loaded query={limits}>{(saved) => <Limits path={`${path}/limits`} saved={saved} />}</Loaded>
      </Section>
      <Danger agent={agent} />
    </Stack>
  );
}

/** An extension of null takes it away. */
type AgentPatch = Partial<Omit<Agent, 'extension'>> & { readonly extension?: string | null };

function useProfileChange(agent: Agent, done: string) {
  const path = `/v1/agent/agents/${agent.agent_id}`;
  return useChange((patch: AgentPatch) => call('PATCH', path, patch), {
    touches: [path, '/v1/agent/agents'],
    done,
  });
}

function Profile({ agent }: { agent: Agent }) {
  const [name, setName] = useState(agent.name);
  const [description, setDescription] = useState(agent.description);
  const [extension, setExtension] = useState(agent.extension ?? '');
  const save = useProfileChange(agent, 'Saved');
  const keepsExtension = extension === (agent.extension ?? '');
  const isUnchanged = name === agent.name && description === agent.description && keepsExtension;
  const patch = { name, description, ...(keepsExtension ? {} : { extension: extension || null }) };
  return (
    <Section title="Name">
      <Stack>
        <TextInput
          label="Name"
          maxLength={120}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <TextInput
          label="Description"
          maxLength={2_000}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <TextInput
          label="Extension"
          description="Phones that register here dial it for this agent; 2 to 6 digits, or empty."
          inputMode="numeric"
          maxLength={6}
          value={extension}
          onChange={(event) => setExtension(event.currentTarget.value)}
        />
        <Group>
          <Button
            variant="default"
            loading={save.isPending}
            disabled={name.trim() === '' || isUnchanged}
            onClick={() => save.mutate(patch)}
          >
            Save name
          </Button>
        </Group>
      </Stack>
    </Section>
  );
}

function PublicAccess({ agent }: { agent: Agent }) {
  const [origins, setOrigins] = useState(agent.allowed_origins);
  const save = useProfileChange(agent, 'Saved');
  const snippet =
    `<script src="${location.origin}/widget.js" async></script>\n<voice-agent ` +
    `agent-id="${agent.agent_id}"></voice-agent>`;
  return (
    <Section title="On web pages">
      <Stack>
        <Switch
          label="Anyone may talk to it from the pages listed below, without a key"
          checked={agent.public_enabled}
          onChange={(event) => save.mutate({ public_enabled: event.currentTarget.checked })}
        />
        <Group align="flex-end">
          <TagsInput
            label="Pages that may use it"
            description="Scheme, host and port, such as https://www.example.com; up to 20."
            maxTags={20}
            value={origins}
            onChange={setOrigins}
            style={{ flex: 1, minWidth: 240 }}
          />
          <Button
            variant="default"
            disabled={JSON.stringify(origins) === JSON.stringify(agent.allowed_origins)}
            onClick={() => save.mutate({ allowed_origins: origins })}
          >
            Save pages
          </Button>
        </Group>
        <div>
          <Group justify="space-between" mb={4}>
            <Text size="sm" fw={500}>
              Paste this into the page
            </Text>
            <Copy value={snippet} label="the snippet" />
          </Group>
          <pre className="block">{snippet}</pre>
        </div>
      </Stack>
    </Section>
  );
}

/** An agent's daily cap and its limit of concurrent calls. */
function Limits({ path, saved }: { path: string; saved: AgentLimits }) {
  const [cap, setCap] = useState<string | number>(saved.daily_cap ?? '');
  const [calls, setCalls] = useState<string | number>(saved.concurrent_calls ?? '');
  const body = {
    daily_cap: cap === '' ? null : String(cap),
    concurrent_calls: calls === '' ? null : Number(calls),
  };
  const save = useChange(() => call('PUT', path, body), {
    touches: [path],
    done: 'The limits apply from now on',
  });
  return (
    <Group align="flex-end">
      <NumberInput
        label="Dollars a day"
        description="Empty: no cap"
        prefix="$"
        min={0}
        decimalScale={2}
        value={cap}
        onChange={setCap}
      />
      <NumberInput
        label="Concurrent calls"
        description="Empty: no limit"
        min={0}
        max={100_000}
        value={calls}
        onChange={setCalls}
      />
      <Button variant="default" loading={save.isPending} onClick={() => save.mutate()}>
        Save limits
      </Button>
    </Group>
  );
}

function Danger({ agent }: { agent: Agent }) {
  const [, navigate] = useLocation();
  const isArchived = agent.status === 'archived';
  const archive = useProfileChange(
    agent,
    isArchived ? 'The agent is active again' : 'Archived: it takes no calls',
  );
  const remove = useChange(() => call('DELETE', `/v1/agent/agents/${agent.agent_id}`), {
    touches: ['/v1/agent/agents', '/v1/agent/phone-numbers'],
    done: 'Agent deleted',
    onDone: () => navigate('/agents'),
  });
  return (
    <Section title="Archive or delete">
      <Group>
        <Button
          variant="default"
          onClick={() => archive.mutate({ status: isArchived ? 'active' : 'archived' })}
        >
          {isArchived ? 'Restore' : 'Archive'}
        </Button>
        <ConfirmButton
          color="red"
          title={`Delete ${agent.name}?`}
          text="Its versions are deleted and its numbers are busy. Past calls stay in the list."
          onConfirm={() => remove.mutate()}
        >
          Delete agent
        </ConfirmButton>
      </Group>
    </Section>
  );
}
