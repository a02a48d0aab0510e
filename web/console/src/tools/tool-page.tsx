/** One tool: its parameters, its request, and a real test request. */
import { Group, NumberInput, Select, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useParams } from 'wouter';
import { useRead } from '../api/queries.ts';
import type { Tool } from '../api/types.ts';
import { EditorPage } from '../parts/editor-page.tsx';
import { Add, Remove } from '../parts/list-buttons.tsx';
import { Section } from '../parts/page.tsx';
import { LoadedPage } from '../parts/states.tsx';
import { editableHeaders, type HeaderInput, Headers, sentHeader } from './headers.tsx';
import { ToolTester } from './tool-tester.tsx';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const MODES = [
  { value: 'blocking', label: 'The agent waits for the result' },
  { value: 'fire_and_forget', label: 'The agent continues at once' },
  { value: 'background', label: 'The result follows later as an event' },
];
const ERRORS = [
  { value: 'passthrough', label: 'Tell the agent what the server answered' },
  { value: 'hide', label: 'Tell the agent only that it failed' },
];

/** Fields edited on this page. */
interface ToolForm
  extends Pick<
    Tool,
    | 'name'
    | 'description'
    | 'method'
    | 'url'
    | 'body_template'
    | 'timeout_seconds'
    | 'execution_mode'
    | 'error_handling'
    | 'arguments'
  > {
  readonly headers: readonly HeaderInput[];
}

export default function ToolPage() {
  const { toolId = '' } = useParams<{ toolId: string }>();
  const tool = useRead<Tool>(`/v1/agent/tools/${toolId}`);
  return (
    <LoadedPage query={tool} kind="tool" all={['/tools', 'All tools']}>
      {(saved) => <ToolEditor key={saved.updated_at} saved={saved} />}
    </LoadedPage>
  );
}

function editedOf(tool: Tool): ToolForm {
  const {
    name,
    description,
    method,
    url,
    body_template,
    timeout_seconds,
    execution_mode,
    error_handling,
    arguments: args,
  } = tool;
  const headers = editableHeaders(tool.headers);
  return {
    name,
    description,
    method,
    url,
    body_template,
    timeout_seconds,
    execution_mode,
    error_handling,
    arguments: args,
    headers,
  };
}

function ToolEditor({ saved }: { saved: Tool }) {
  const [tool, setTool] = useState(() => editedOf(saved));
  const set = (patch: Partial<ToolForm>) => setTool((before) => ({ ...before, ...patch }));
  const isWebhook = saved.tool_type === 'webhook';
  const isDirty = JSON.stringify(tool) !== JSON.stringify(editedOf(saved));
  const { url, method, body_template, headers, ...common } = tool;
  // Unchanged headers must not be sent, because their credentials are not available here.
  const areHeadersNew = JSON.stringify(headers) !== JSON.stringify(editableHeaders(saved.headers));
  const request = {
    url,
    method,
    body_template,
    ...(areHeadersNew ? { headers: headers.map(sentHeader) } : {}),
  };
  return (
    <EditorPage
      name={saved.name}
      id={saved.tool_id}
      idLabel="the tool’s id"
      list={{ api: '/v1/agent/tools', page: '/tools' }}
      patch={isDirty ? { ...common, ...(isWebhook && request) } : null}
    >
      <ForAgent tool={tool} set={set} />
      {isWebhook && <RequestSection tool={tool} set={set} />}
      <HowItRuns tool={tool} set={set} />
      {isWebhook && <ToolTester tool={saved} isDirty={isDirty} />}
    </EditorPage>
  );
}

interface PartProps {
  readonly tool: ToolForm;
  set(patch: Partial<ToolForm>): void;
}

function ForAgent({ tool, set }: PartProps) {
  return (
    <Section title="For the agent">
      <Stack>
        <TextInput
          label="Name"
          maxLength={120}
          value={tool.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        <Textarea
          label="Description"
          description="When to use it and what it returns, as read by the agent."
          maxLength={2_000}
          autosize
          minRows={2}
          value={tool.description}
          onChange={(event) => set({ description: event.currentTarget.value })}
        />
        <Arguments list={tool.arguments} onChange={(list) => set({ arguments: list })} />
      </Stack>
    </Section>
  );
}

function RequestSection({ tool, set }: PartProps) {
  return (
    <Section title="Request">
      <Stack>
        <Group align="flex-end" gap="xs">
          <Select
            label="Method"
            data={METHODS}
            allowDeselect={false}
            w={110}
            value={tool.method}
            onChange={(value) => set({ method: (value ?? 'POST') as ToolForm['method'] })}
          />
          <TextInput
            label="Address"
            value={tool.url}
            onChange={(event) => set({ url: event.currentTarget.value })}
            style={{ flex: 1, minWidth: 240 }}
          />
        </Group>
        <Textarea
          label="Body"
          description="The agent fills placeholders such as {{order}}; if empty, no body is sent."
          autosize
          minRows={3}
          value={tool.body_template}
          onChange={(event) => set({ body_template: event.currentTarget.value })}
          styles={{ input: { fontFamily: 'monospace' } }}
        />
        <Headers list={tool.headers} onChange={(list) => set({ headers: list })} />
        <Select
          label="If the server refuses"
          data={ERRORS}
          allowDeselect={false}
          value={tool.error_handling}
          onChange={(value) =>
            set({ error_handling: (value ?? 'passthrough') as ToolForm['error_handling'] })
          }
        />
      </Stack>
    </Section>
  );
}

function HowItRuns({ tool, set }: PartProps) {
  return (
    <Section title="How it runs">
      <Group align="flex-end">
        <Select
          label="During the call"
          data={MODES}
          allowDeselect={false}
          w={280}
          value={tool.execution_mode}
          onChange={(value) => set({ execution_mode: (value ?? 'blocking') as ToolForm['execution_mode'] })}
        />
        <NumberInput
          label="Timeout"
          suffix=" s"
          min={1}
          max={300}
          w={140}
          value={tool.timeout_seconds}
          onChange={(value) => typeof value === 'number' && set({ timeout_seconds: value })}
        />
      </Group>
    </Section>
  );
}

function Arguments({
  list,
  onChange,
}: {
  list: ToolForm['arguments'];
  onChange: (list: ToolForm['arguments']) => void;
}) {
  const change = (index: number, patch: Partial<ToolForm['arguments'][number]>) =>
    onChange(list.map((one, at) => (at === index ? { ...one, ...patch } : one)));
  return (
    <Stack gap="xs">
      <Text size="sm" fw={500}>
        Arguments from the agent
      </Text>
      {list.map((argument, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an argument being typed has no identity but its place.
        <Group key={index} gap="xs" align="flex-end">
          <TextInput
            aria-label="Name of the argument"
            placeholder="order_number"
            value={argument.name}
            onChange={(event) => change(index, { name: event.currentTarget.value })}
            w={180}
          />
          <TextInput
            aria-label="What it is"
            placeholder="What it is"
            value={argument.description}
            onChange={(event) => change(index, { description: event.currentTarget.value })}
            style={{ flex: 1, minWidth: 160 }}
          />
          <Remove label={argument.name} onClick={() => onChange(list.filter((_, at) => at !== index))} />
        </Group>
      ))}
      <Add label="an argument" onClick={() => onChange([...list, { name: '', description: '' }])} />
    </Stack>
  );
}
