/** The settings of `conversation` people can change, one row each: in an agent's draft and for a replay. */
import { NumberInput, Select, SimpleGrid, Stack, Switch, TagsInput } from '@mantine/core';
import type { AgentConfig } from '../api/types.ts';

type Conversation = AgentConfig['conversation'];

type Section = 'turns' | 'silence';

/** A row; without a section it is shown for replays only. */
type Row = {
  readonly section?: Section;
  readonly label: string;
  readonly description?: string;
  readonly inReplay?: boolean;
} & (
  | { readonly kind: 'number'; readonly min: number; readonly max: number; readonly suffix: string }
  | { readonly kind: 'choice'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'switch' }
  | { readonly kind: 'phrases'; readonly maxTags: number }
);

const ROWS = {
  response_wait_ms: {
    section: 'turns',
    kind: 'number',
    label: 'Wait before answering',
    description: 'After a finished sentence.',
    min: 300,
    max: 2_000,
    suffix: ' ms',
  },
  response_max_wait_ms: {
    kind: 'number',
    label: 'Longest wait',
    description: 'After an unfinished sentence.',
    min: 0,
    max: 4_000,
    suffix: ' ms',
  },
  eagerness: {
    section: 'turns',
    kind: 'choice',
    label: 'Eagerness',
    description: 'How certain it must be that the caller has finished.',
    values: { relaxed: 'Relaxed', balanced: 'Balanced', eager: 'Eager' },
  },
  interruption_sensitivity: {
    section: 'turns',
    kind: 'choice',
    label: 'Interrupted by',
    values: { low: 'Clear speech only', balanced: 'Speech, except “uh-huh”', high: 'Any utterance' },
  },
  interruption_ignore_phrases: {
    section: 'turns',
    kind: 'phrases',
    label: 'Phrases that never interrupt',
    description: 'Such as “go on”.',
    maxTags: 50,
    inReplay: false,
  },
  interruptible: { section: 'turns', kind: 'switch', label: 'Callers may interrupt' },
  speculative_response: {
    section: 'turns',
    kind: 'switch',
    label: 'Think ahead',
    description:
      'Starts preparing the answer while the caller may still continue; nothing is said too early.',
  },
  hangup_after_seconds: {
    section: 'silence',
    kind: 'number',
    label: 'Hang up after silence of',
    min: 10,
    max: 3_600,
    suffix: ' s',
  },
  max_duration_seconds: {
    section: 'silence',
    kind: 'number',
    label: 'Longest call',
    min: 60,
    max: 3_600,
    suffix: ' s',
    inReplay: false,
  },
  reengage_enabled: {
    section: 'silence',
    kind: 'switch',
    label: 'Ask a silent caller whether they are still there',
  },
  hangup_farewell_enabled: {
    section: 'silence',
    kind: 'switch',
    label: 'Say goodbye before hanging up after silence',
  },
} as const satisfies { readonly [Name in keyof Conversation]?: Row };

type Setting = keyof typeof ROWS;
const SETTINGS = Object.keys(ROWS) as Setting[];
const rowOf = (name: Setting): Row => ROWS[name];

interface DraftFieldsProps {
  readonly section: Section;
  readonly conversation: Conversation;
  change(patch: Partial<Conversation>): void;
}

/** A section's settings in an agent's draft: values first, then switches. */
export function DraftFields({ section, ...props }: DraftFieldsProps) {
  const fields = SETTINGS.filter((name) => rowOf(name).section === section);
  const isSwitch = (name: Setting) => rowOf(name).kind === 'switch';
  const field = (name: Setting) => <DraftField key={name} name={name} {...props} />;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>{fields.filter((name) => !isSwitch(name)).map(field)}</SimpleGrid>
      {fields.filter(isSwitch).map(field)}
    </Stack>
  );
}

interface ReplayFieldsProps {
  readonly settings: Partial<Conversation>;
  change(patch: Partial<Conversation>): void;
}

/** The settings of a replay: an empty one stays as it was. */
export function ReplayFields(props: ReplayFieldsProps) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
      {SETTINGS.filter((name) => rowOf(name).inReplay !== false).map((name) => (
        <ReplayField key={name} name={name} {...props} />
      ))}
    </SimpleGrid>
  );
}

function DraftField({
  name,
  conversation,
  change,
}: Omit<DraftFieldsProps, 'section'> & { readonly name: Setting }) {
  const row = rowOf(name);
  const value: unknown = conversation[name];
  switch (row.kind) {
    case 'number':
      return (
        <NumberInput
          label={row.label}
          description={row.description}
          min={row.min}
          max={row.max}
          suffix={row.suffix}
          step={row.suffix === ' ms' ? 50 : 1}
          value={value as number}
          onChange={(next) => typeof next === 'number' && change({ [name]: next })}
        />
      );
    case 'choice':
      return (
        <Select
          label={row.label}
          description={row.description}
          allowDeselect={false}
          data={Object.entries(row.values).map(([choice, label]) => ({ value: choice, label }))}
          value={value as string}
          onChange={(next) => change({ [name]: next ?? value })}
        />
      );
    case 'switch':
      return (
        <Switch
          label={row.label}
          description={row.description}
          checked={value as boolean}
          onChange={(event) => change({ [name]: event.currentTarget.checked })}
        />
      );
    case 'phrases':
      return (
        <TagsInput
          label={row.label}
          description={row.description}
          maxTags={row.maxTags}
          value={value as string[]}
          onChange={(phrases) => change({ [name]: phrases })}
        />
      );
    default:
      return row satisfies never;
  }
}

function ReplayField({ name, settings, change }: ReplayFieldsProps & { readonly name: Setting }) {
  const row = rowOf(name);
  const value: unknown = settings[name];
  if (row.kind === 'number')
    return (
      <NumberInput
        label={row.label}
        placeholder="As in the call"
        min={row.min}
        max={row.max}
        suffix={row.suffix}
        value={(value as number | undefined) ?? ''}
        onChange={(next) => change({ [name]: typeof next === 'number' ? next : undefined })}
      />
    );
  if (row.kind === 'phrases') return null;
  const isSwitch = row.kind === 'switch';
  const choices = isSwitch ? { true: 'Yes', false: 'No' } : row.values;
  return (
    <Select
      label={row.label}
      placeholder="As in the call"
      clearable
      data={Object.entries(choices).map(([choice, label]) => ({ value: choice, label }))}
      value={value === undefined ? null : String(value)}
      onChange={(next) => change({ [name]: next === null ? undefined : isSwitch ? next === 'true' : next })}
    />
  );
}
