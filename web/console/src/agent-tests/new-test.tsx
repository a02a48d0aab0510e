/**
 * Creates a test: of the agent's next reply, of its next tool call, or of a whole conversation with a
 * simulated caller.
 */
import {
  Button,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  Textarea,
  TextInput,
} from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { AgentTest, TestTools } from '../api/types.ts';

/** Form input for all kinds of test. */
interface Form {
  readonly kind: AgentTest['test_type'];
  readonly name: string;
  readonly says: string;
  readonly expectation: string;
  readonly toolId: string | null;
  readonly isForbidden: boolean;
  readonly maxTurns: number;
}

interface PartProps {
  readonly form: Form;
  set(patch: Partial<Form>): void;
}

const EMPTY: Form = {
  kind: 'next_reply',
  name: '',
  says: '',
  expectation: '',
  toolId: null,
  isForbidden: false,
  maxTurns: 10,
};

export function NewTest({ agentId, onDone }: { agentId: string; onDone: () => void }) {
  const [form, setForm] = useState(EMPTY);
  const set = (patch: Partial<Form>) => setForm((before) => ({ ...before, ...patch }));
  const tools = useRead<TestTools>(`/v1/agent/agents/${agentId}/test-tools`).data?.tools ?? [];
  const create = useChange(
    () =>
      call('POST', '/v1/agent/tests', { name: form.name, agent_ids: [agentId], ...definition(form, tools) }),
    {
      touches: ['/v1/agent/tests'],
      done: 'Test created; run it when you like',
      onDone,
    },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <SegmentedControl
          aria-label="What to test"
          data={[
            { value: 'next_reply', label: 'Next reply' },
            { value: 'tool', label: 'Tool call' },
            { value: 'simulation', label: 'Conversation' },
          ]}
          value={form.kind}
          onChange={(kind) => set({ kind: kind as Form['kind'] })}
        />
        <TextInput
          label="Name"
          required
          maxLength={200}
          data-autofocus
          value={form.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        <Words
          label={
            form.kind === 'simulation' ? 'Who the simulated caller is and what they want' : 'The caller says'
          }
          maxLength={form.kind === 'simulation' ? 10_000 : 2_000}
          value={form.says}
          onChange={(says) => set({ says })}
        />
        {form.kind === 'tool' ? (
          <Expected form={form} set={set} tools={tools} />
        ) : (
          <Expectation form={form} set={set} />
        )}
        <Button type="submit" loading={create.isPending} disabled={!isComplete(form)}>
          Create
        </Button>
      </Stack>
    </form>
  );
}

function Expected({ form, set, tools }: PartProps & { tools: TestTools['tools'] }) {
  return (
    <>
      <Select
        label="Tool"
        required
        data={tools.map(({ id, name }) => ({ value: id, label: name }))}
        placeholder={tools.length === 0 ? 'The agent has no tools' : 'Choose one'}
        value={form.toolId}
        onChange={(toolId) => set({ toolId })}
      />
      <Switch
        label="It must not be called"
        checked={form.isForbidden}
        onChange={(event) => set({ isForbidden: event.currentTarget.checked })}
      />
    </>
  );
}

function Expectation({ form, set }: PartProps) {
  const isSimulation = form.kind === 'simulation';
  return (
    <>
      <Words
        label={isSimulation ? 'It succeeded when' : 'Expected answer'}
        maxLength={400}
        value={form.expectation}
        onChange={(expectation) => set({ expectation })}
      />
      {isSimulation && (
        <NumberInput
          label="Most turns of the caller"
          min={1}
          max={50}
          allowDecimal={false}
          value={form.maxTurns}
          onChange={(value) => typeof value === 'number' && set({ maxTurns: value })}
        />
      )}
    </>
  );
}

function Words({
  label,
  maxLength,
  value,
  onChange,
}: {
  label: string;
  maxLength: number;
  value: string;
  onChange: (text: string) => void;
}) {
  return (
    <Textarea
      label={label}
      required
      maxLength={maxLength}
      autosize
      minRows={2}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function isComplete({ kind, name, says, expectation, toolId }: Form): boolean {
  return name !== '' && says !== '' && (kind === 'tool' ? toolId !== null : expectation !== '');
}

/** Definition of a test of this kind (`POST /v1/agent/tests`). */
function definition(
  { kind, says, expectation, toolId, isForbidden, maxTurns }: Form,
  tools: TestTools['tools'],
): Record<string, unknown> {
  const conversation = [{ role: 'user', text: says }];
  if (kind === 'next_reply') return { test_type: kind, conversation, expectation };
  if (kind === 'tool') {
    return {
      test_type: kind,
      conversation,
      referenced_tool: tools.find(({ id }) => id === toolId) ?? null,
      verify_absence: isForbidden,
    };
  }
  const success_conditions = [{ name: 'success', description: expectation }];
  return { test_type: kind, simulation: { scenario: says, max_turns: maxTurns, success_conditions } };
}
