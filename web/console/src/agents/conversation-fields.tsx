/**
 * Labels and fields of the settings that protocol/conversation-settings.ts shows in the console: in an
 * agent's draft and for a replay.
 */
import { NumberInput, Select, SimpleGrid, Stack, Switch, TagsInput } from '@mantine/core';
import { CONVERSATION_SETTINGS, type ShownSetting } from '../../../../protocol/conversation-settings.ts';
import { type AgentConfig, CONVERSATION_BOUNDS } from '../api/types.ts';

type Conversation = AgentConfig['conversation'];

type Section = 'turns' | 'silence';

type Row = { readonly label: string; readonly description?: string } & (
  | { readonly kind: 'number'; readonly bounds: { readonly minimum: number; readonly maximum: number } }
  | { readonly kind: 'choice'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'switch' }
  | { readonly kind: 'phrases'; readonly bounds: { readonly maxItems: number } }
);

const ROWS = {
  response_wait_ms: {
    kind: 'number',
    label: 'Wait before answering',
    description: 'After a finished sentence.',
    bounds: CONVERSATION_BOUNDS.response_wait_ms,
  },
  response_max_wait_ms: {
    kind: 'number',
    label: 'Longest wait',
    description: 'After an unfinished sentence.',
    bounds: CONVERSATION_BOUNDS.response_max_wait_ms,
  },
  eagerness: {
    kind: 'choice',
    label: 'Eagerness',
    description: 'How certain it must be that the caller has finished.',
    values: { relaxed: 'Relaxed', balanced: 'Balanced', eager: 'Eager' },
  },
  interruption_sensitivity: {
    kind: 'choice',
    label: 'Interrupted by',
    description: 'How much speech stops the agent.',
    values: { low: 'Clear speech only', balanced: 'Speech, except “uh-huh”', high: 'Any utterance' },
  },
  interruption_ignore_phrases: {
    kind: 'phrases',
    label: 'Phrases that never interrupt',
    description: 'Such as “go on”.',
    bounds: CONVERSATION_BOUNDS.interruption_ignore_phrases,
  },
  interruptible: { kind: 'switch', label: 'Callers may interrupt' },
  speculative_response: {
    kind: 'switch',
    label: 'Think ahead',
    description:
      'Starts preparing the answer while the caller may still continue; nothing is said too early.',
  },
  hangup_after_seconds: {
    kind: 'number',
    label: 'Hang up after silence of',
    bounds: CONVERSATION_BOUNDS.hangup_after_seconds,
  },
  max_duration_seconds: {
    kind: 'number',
    label: 'Longest call',
    bounds: CONVERSATION_BOUNDS.max_duration_seconds,
  },
  reengage_enabled: {
    kind: 'switch',
    label: 'Ask a silent caller whether they are still there',
  },
  hangup_farewell_enabled: {
    kind: 'switch',
    label: 'Say goodbye before hanging up after silence',
  },
} as const satisfies { readonly [Name in ShownSetting]: Row };

const SETTINGS = Object.keys(ROWS) as ShownSetting[];
const rowOf = (name: ShownSetting): Row => ROWS[name];
const unitOf = (name: ShownSetting): string => {
  const setting = CONVERSATION_SETTINGS[name];
  return 'unit' in setting ? setting.unit : '';
};

/** Settings in words, a line each: `Eagerness: Eager`. */
export function describeSettings(settings: Readonly<Record<string, unknown>>): string[] {
  return SETTINGS.filter((name) => settings[name] !== undefined).map(
    (name) => `${rowOf(name).label}: ${valueInWords(name, settings[name])}`,
  );
}

function valueInWords(name: ShownSetting, value: unknown): string {
  const row = rowOf(name);
  if (value === null) return 'adjusted to each caller';
  if (row.kind === 'choice') return row.values[String(value)] ?? String(value);
  if (row.kind === 'switch') return value === true ? 'yes' : 'no';
  return row.kind === 'number' ? `${value} ${unitOf(name)}` : String(value);
}

interface DraftFieldsProps {
  readonly section: Section;
  readonly conversation: Conversation;
  change(patch: Partial<Conversation>): void;
}

/** A section's settings in an agent's draft: values first, then switches. */
export function DraftFields({ section, ...props }: DraftFieldsProps) {
  const fields = SETTINGS.filter((name) => CONVERSATION_SETTINGS[name].section === section);
  const isSwitch = (name: ShownSetting) => rowOf(name).kind === 'switch';
  const field = (name: ShownSetting) => <DraftField key={name} name={name} {...props} />;
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

/** The settings of a replay; an empty one keeps the value of the call. */
export function ReplayFields(props: ReplayFieldsProps) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
      {SETTINGS.filter((name) => CONVERSATION_SETTINGS[name].isReplayable).map((name) => (
        <ReplayField key={name} name={name} {...props} />
      ))}
    </SimpleGrid>
  );
}

function DraftField({
  name,
  conversation,
  change,
}: Omit<DraftFieldsProps, 'section'> & { readonly name: ShownSetting }) {
  const row = rowOf(name);
  const value: unknown = conversation[name];
  switch (row.kind) {
    case 'number':
      return (
        <NumberInput
          label={row.label}
          description={row.description}
          min={row.bounds.minimum}
          max={row.bounds.maximum}
          suffix={` ${unitOf(name)}`}
          step={unitOf(name) === 'ms' ? 50 : 1}
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
          maxTags={row.bounds.maxItems}
          value={value as string[]}
          onChange={(phrases) => change({ [name]: phrases })}
        />
      );
    default:
      return row satisfies never;
  }
}

function ReplayField({ name, settings, change }: ReplayFieldsProps & { readonly name: ShownSetting }) {
  const row = rowOf(name);
  const value: unknown = settings[name];
  if (row.kind === 'number')
    return (
      <NumberInput
        label={row.label}
        placeholder="As in the call"
        min={row.bounds.minimum}
        max={row.bounds.maximum}
        suffix={` ${unitOf(name)}`}
        value={(value as number | undefined) ?? ''}
        onChange={(next) => change({ [name]: typeof next === 'number' ? next : undefined })}
      />
    );
  // An empty list could not be told from the call's own.
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
