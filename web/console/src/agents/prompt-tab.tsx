/** The agent's instructions, its greeting, the language model, and the variables of its texts. */
import { Select, Stack, Switch, TagsInput, Text, Textarea, TextInput } from '@mantine/core';
import { useRead } from '../api/queries.ts';
import type { AgentConfig, Models } from '../api/types.ts';
import { Section } from '../parts/page.tsx';
import type { EditorProps } from './draft.ts';
import { KeyField, type WithKey } from './key-field.tsx';
import { PromptEditor } from './prompt-editor.tsx';

const OPENINGS = [
  { value: 'prompt', label: 'Follow the instruction below' },
  { value: 'fixed', label: 'Say exactly this' },
  { value: 'off', label: 'Wait for the caller' },
];

export function PromptTab({ config, set }: EditorProps) {
  const { prompt } = config;
  return (
    <Stack>
      <Section title="Instructions">
        <PromptEditor
          value={prompt.system_prompt}
          variables={Object.keys(config.variables.defaults)}
          onChange={(system_prompt) => set('prompt', { system_prompt })}
        />
      </Section>
      <Section title="First message">
        <Stack>
          <Select
            label="At the start of the call"
            data={OPENINGS}
            allowDeselect={false}
            value={prompt.first_message_mode}
            onChange={(mode) =>
              set('prompt', {
                first_message_mode: (mode ?? 'prompt') as AgentConfig['prompt']['first_message_mode'],
              })
            }
          />
          {prompt.first_message_mode === 'fixed' && (
            <Textarea
              label="First message"
              autosize
              minRows={2}
              maxLength={10_000}
              value={prompt.first_message}
              onChange={(event) => set('prompt', { first_message: event.currentTarget.value })}
            />
          )}
          {prompt.first_message_mode === 'prompt' && (
            <Textarea
              label="Instruction for the first message"
              autosize
              minRows={2}
              maxLength={10_000}
              value={prompt.first_message_prompt}
              onChange={(event) => set('prompt', { first_message_prompt: event.currentTarget.value })}
            />
          )}
        </Stack>
      </Section>
      <ModelSection config={config} set={set} />
      <Variables config={config} set={set} />
      <Section title="Guardrails">
        <Stack>
          <Switch
            label="Stay on topic"
            description="Off-topic requests are declined politely."
            checked={config.guardrails.focus}
            onChange={(event) => set('guardrails', { focus: event.currentTarget.checked })}
          />
          <Switch
            label="Resist manipulation"
            description="Attempts to extract the prompt or change the role are declined."
            checked={config.guardrails.manipulation}
            onChange={(event) => set('guardrails', { manipulation: event.currentTarget.checked })}
          />
        </Stack>
      </Section>
    </Stack>
  );
}

function ModelSection({ config, set }: EditorProps) {
  const models = useRead<Models>('/v1/agent/models');
  const { custom, model } = config.llm;
  const offered = models.data?.llm ?? [];
  const data = [
    ...offered.map((one) => ({ value: one.id, label: withFigures(one) })),
    ...(model === '' || offered.some(({ id }) => id === model) ? [] : [{ value: model, label: model }]),
  ];
  return (
    <Section title="Language model">
      <Stack>
        <Switch
          label="Use your own server"
          description="Any server with OpenAI’s chat completions API."
          checked={custom !== null}
          onChange={(event) =>
            set('llm', {
              custom: event.currentTarget.checked ? { base_url: '', model: '', has_secret: false } : null,
            })
          }
        />
        {custom === null ? (
          <Select
            label="Model"
            data={data}
            allowDeselect={false}
            searchable
            value={model}
            onChange={(id) => id && set('llm', { model: id })}
          />
        ) : (
          <CustomModel custom={custom} onChange={(next) => set('llm', { custom: next })} />
        )}
      </Stack>
    </Section>
  );
}

/** A model with what was found out about a local one. */
function withFigures({ id, context_tokens, tools, tokens_per_second }: Models['llm'][number]): string {
  const figures = [
    ...(tokens_per_second === undefined ? [] : [`${tokens_per_second} tokens a second`]),
    ...(context_tokens !== undefined ? [`context ${context_tokens} tokens`] : []),
    ...(tools === false ? ['called no tool when asked to'] : []),
  ];
  return figures.length === 0 ? id : `${id} (${figures.join(', ')})`;
}

type Custom = WithKey<NonNullable<AgentConfig['llm']['custom']>>;

function CustomModel({ custom, onChange }: { custom: Custom; onChange: (custom: Custom) => void }) {
  return (
    <>
      <TextInput
        label="Base address"
        placeholder="https://models.example.com/v1"
        value={custom.base_url}
        onChange={(event) => onChange({ ...custom, base_url: event.currentTarget.value })}
      />
      <TextInput
        label="Model"
        value={custom.model}
        onChange={(event) => onChange({ ...custom, model: event.currentTarget.value })}
      />
      <KeyField server={custom} onChange={onChange} />
    </>
  );
}

const MISSING = [
  { value: 'keep', label: 'Leave the placeholder as it is' },
  { value: 'empty', label: 'Leave it empty' },
  { value: 'reject', label: 'Refuse the session' },
];

function Variables({ config, set }: EditorProps) {
  const { defaults, on_missing } = config.variables;
  const entries = Object.entries(defaults).map(([name, value]) => `${name}=${value}`);
  const read = (lines: string[]) =>
    Object.fromEntries(
      lines.flatMap((line) => {
        const [, name, value] = /^([A-Za-z][A-Za-z0-9_]*)=(.*)$/s.exec(line.trim()) ?? [];
        return name === undefined
          ? []
          : [
              [
                name,
                typeof defaults[name] !== 'string' && defaults[name] === asWritten(value ?? '')
                  ? asWritten(value ?? '')
                  : (value ?? ''),
              ],
            ];
      }),
    );
  return (
    <Section title="Variables">
      <Stack>
        <TagsInput
          label="Defaults"
          description="name=value, each confirmed with Enter. Use them as {{name}} in any text."
          placeholder={entries.length === 0 ? 'shop=Bella Vista' : ''}
          value={entries}
          onChange={(lines) => set('variables', { defaults: read(lines) })}
          splitChars={[]}
        />
        <Select
          label="If a value is missing"
          data={MISSING}
          allowDeselect={false}
          value={on_missing}
          onChange={(value) => set('variables', { on_missing: (value ?? 'keep') as typeof on_missing })}
        />
        <Text size="sm" c="dimmed">
          Sessions, phone calls and the conversation_init webhook can set other values.
        </Text>
      </Stack>
    </Section>
  );
}

/** A default that was a number or boolean keeps its type if its text is unchanged. */
function asWritten(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}
