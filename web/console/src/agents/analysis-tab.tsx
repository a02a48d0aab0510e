/** What is worked out after a call, and who is told. */
import { ActionIcon, Button, Group, Select, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import type { AgentConfig } from '../api/types.ts';
import { Section } from '../parts/page.tsx';
import type { EditorProps } from './draft.ts';

type Analysis = AgentConfig['analysis'];
type DataField = Analysis['data_fields'][number];

const TYPES = ['text', 'boolean', 'number', 'enum'];

export function AnalysisTab({ config, set }: EditorProps) {
  const { analysis } = config;
  return (
    <Stack>
      <Section title="Summary">
        <Stack>
          <Switch
            label="Write a summary after each call"
            checked={analysis.summary.enabled}
            onChange={(event) => set('analysis', { summary: { ...analysis.summary, enabled: event.currentTarget.checked } })}
          />
          <Textarea
            label="Instruction"
            placeholder="The default: what the caller wanted and what came of it."
            maxLength={1_000}
            value={analysis.summary.prompt ?? ''}
            onChange={(event) =>
              set('analysis', { summary: { ...analysis.summary, prompt: event.currentTarget.value === '' ? null : event.currentTarget.value } })
            }
          />
        </Stack>
      </Section>
      <Fields analysis={analysis} onChange={(data_fields) => set('analysis', { data_fields })} />
      <Criteria analysis={analysis} onChange={(criteria) => set('analysis', { criteria })} />
      <Webhooks config={config} set={set} />
    </Stack>
  );
}

function Fields({ analysis, onChange }: { analysis: Analysis; onChange: (fields: DataField[]) => void }) {
  const fields = analysis.data_fields;
  const change = (index: number, patch: Partial<DataField>) => onChange(fields.map((field, at) => (at === index ? { ...field, ...patch } : field)));
  return (
    <Section
      title="Data to extract"
      aside={<Add disabled={fields.length >= 20} onClick={() => onChange([...fields, { name: '', type: 'text', description: '' }])} />}
    >
      {fields.length === 0 && <Text c="dimmed">Nothing yet: add a field, such as the order number.</Text>}
      <Stack>
        {fields.map((field, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a field has no identity but its place.
          <Group key={index} align="flex-end" gap="xs">
            <TextInput
              label="Name"
              value={field.name}
              placeholder="order_number"
              onChange={(event) => change(index, { name: event.currentTarget.value })}
              w={170}
            />
            <Select
              label="Type"
              data={TYPES}
              allowDeselect={false}
              value={field.type}
              onChange={(type) => change(index, { type: (type ?? 'text') as DataField['type'] })}
              w={110}
            />
            <TextInput
              label="What it is"
              value={field.description}
              onChange={(event) => change(index, { description: event.currentTarget.value })}
              style={{ flex: 1, minWidth: 180 }}
            />
            {field.type === 'enum' && (
              <TextInput
                label="Options, with commas"
                value={field.enum_options?.join(',') ?? ''}
                onChange={(event) => change(index, { enum_options: event.currentTarget.value.split(',') })}
                w={200}
              />
            )}
            <Remove what={field.name} onClick={() => onChange(fields.filter((_, at) => at !== index))} />
          </Group>
        ))}
      </Stack>
    </Section>
  );
}

function Criteria({ analysis, onChange }: { analysis: Analysis; onChange: (criteria: Analysis['criteria']) => void }) {
  const { criteria } = analysis;
  const change = (index: number, patch: Partial<Analysis['criteria'][number]>) =>
    onChange(criteria.map((one, at) => (at === index ? { ...one, ...patch } : one)));
  return (
    <Section
      title="What makes a call a success"
      aside={<Add disabled={criteria.length >= 10} onClick={() => onChange([...criteria, { name: '', description: '' }])} />}
    >
      {criteria.length === 0 && <Text c="dimmed">Nothing yet: add a criterion, such as “the table was booked”.</Text>}
      <Stack>
        {criteria.map((one, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a criterion has no identity but its place.
          <Group key={index} align="flex-end" gap="xs">
            <TextInput
              label="Name"
              value={one.name}
              placeholder="table_booked"
              onChange={(event) => change(index, { name: event.currentTarget.value })}
              w={170}
            />
            <TextInput
              label="When it is met"
              value={one.description}
              onChange={(event) => change(index, { description: event.currentTarget.value })}
              style={{ flex: 1, minWidth: 180 }}
            />
            <Remove what={one.name} onClick={() => onChange(criteria.filter((_, at) => at !== index))} />
          </Group>
        ))}
      </Stack>
    </Section>
  );
}

function Webhooks({ config, set }: EditorProps) {
  const endpoints: (AgentConfig['webhooks']['post_call'][number] & { secret?: string })[] = config.webhooks.post_call;
  const change = (index: number, patch: { url?: string; secret?: string }) =>
    set('webhooks', { post_call: endpoints.map((endpoint, at) => (at === index ? { ...endpoint, ...patch } : endpoint)) });
  return (
    <Section
      title="Webhooks after a call"
      aside={<Add disabled={endpoints.length >= 5} onClick={() => set('webhooks', { post_call: [...endpoints, { url: '', has_secret: false }] })} />}
    >
      {endpoints.length === 0 && (
        <Text c="dimmed">Nobody is told. Add an address, and it gets what was said and what came of it after each call.</Text>
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
            <TextInput
              label="Signing secret"
              type="password"
              autoComplete="off"
              placeholder={endpoint.has_secret ? 'Kept; type to replace' : 'None'}
              value={endpoint.secret ?? ''}
              onChange={(event) => change(index, { secret: event.currentTarget.value })}
              style={{ flex: 1, minWidth: 160 }}
            />
            <Remove what={endpoint.url} onClick={() => set('webhooks', { post_call: endpoints.filter((_, at) => at !== index) })} />
          </Group>
        ))}
      </Stack>
    </Section>
  );
}

function Add({ disabled, onClick }: { disabled: boolean; onClick: () => void }) {
  return (
    <Button size="xs" variant="default" disabled={disabled} onClick={onClick}>
      Add
    </Button>
  );
}

function Remove({ what, onClick }: { what: string; onClick: () => void }) {
  return (
    <ActionIcon variant="default" size="lg" aria-label={`Remove ${what}`} onClick={onClick}>
      <IconTrash size={16} />
    </ActionIcon>
  );
}
