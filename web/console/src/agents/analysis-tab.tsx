/** Analysis after a call, and its webhooks. */
import { Group, Select, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import type { AgentConfig } from '../api/types.ts';
import { Add, Remove } from '../parts/list-buttons.tsx';
import { Section } from '../parts/page.tsx';
import type { EditorProps } from './draft.ts';
import { PostCallWebhooks } from './webhooks-sections.tsx';

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
            onChange={(event) =>
              set('analysis', { summary: { ...analysis.summary, enabled: event.currentTarget.checked } })
            }
          />
          <Textarea
            label="Instruction"
            placeholder="Default: what the caller wanted and the outcome."
            maxLength={1_000}
            value={analysis.summary.prompt ?? ''}
            onChange={(event) =>
              set('analysis', {
                summary: {
                  ...analysis.summary,
                  prompt: event.currentTarget.value === '' ? null : event.currentTarget.value,
                },
              })
            }
          />
        </Stack>
      </Section>
      <Fields analysis={analysis} onChange={(data_fields) => set('analysis', { data_fields })} />
      <Criteria analysis={analysis} onChange={(criteria) => set('analysis', { criteria })} />
      <PostCallWebhooks config={config} set={set} />
    </Stack>
  );
}

function Fields({ analysis, onChange }: { analysis: Analysis; onChange: (fields: DataField[]) => void }) {
  const fields = analysis.data_fields;
  const change = (index: number, patch: Partial<DataField>) =>
    onChange(fields.map((field, at) => (at === index ? { ...field, ...patch } : field)));
  return (
    <Section
      title="Data to extract"
      aside={
        <Add
          disabled={fields.length >= 20}
          onClick={() => onChange([...fields, { name: '', type: 'text', description: '' }])}
        />
      }
    >
      {fields.length === 0 && <Text c="dimmed">None yet: add a field, such as the order number.</Text>}
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
                label="Options, separated by commas"
                value={field.enum_options?.join(',') ?? ''}
                onChange={(event) => change(index, { enum_options: event.currentTarget.value.split(',') })}
                w={200}
              />
            )}
            <Remove label={field.name} onClick={() => onChange(fields.filter((_, at) => at !== index))} />
          </Group>
        ))}
      </Stack>
    </Section>
  );
}

function Criteria({
  analysis,
  onChange,
}: {
  analysis: Analysis;
  onChange: (criteria: Analysis['criteria']) => void;
}) {
  const { criteria } = analysis;
  const change = (index: number, patch: Partial<Analysis['criteria'][number]>) =>
    onChange(criteria.map((one, at) => (at === index ? { ...one, ...patch } : one)));
  return (
    <Section
      title="What makes a call a success"
      aside={
        <Add
          disabled={criteria.length >= 10}
          onClick={() => onChange([...criteria, { name: '', description: '' }])}
        />
      }
    >
      {criteria.length === 0 && (
        <Text c="dimmed">None yet: add a criterion, such as “the table was booked”.</Text>
      )}
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
            <Remove label={one.name} onClick={() => onChange(criteria.filter((_, at) => at !== index))} />
          </Group>
        ))}
      </Stack>
    </Section>
  );
}
