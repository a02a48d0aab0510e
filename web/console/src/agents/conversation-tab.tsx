/**
 * Conversation behaviour: when the agent answers, what interrupts it, how silence is handled, what is
 * recorded.
 */
import { NumberInput, Select, SimpleGrid, Stack, Switch, TagsInput, TextInput } from '@mantine/core';
import type { AgentConfig } from '../api/types.ts';
import { Section } from '../parts/page.tsx';
import type { EditorProps } from './draft.ts';

type Conversation = AgentConfig['conversation'];

export function ConversationTab({ config, set }: EditorProps) {
  const { conversation } = config;
  const change = (patch: Partial<Conversation>) => set('conversation', patch);
  return (
    <Stack>
      <Turns conversation={conversation} change={change} />
      <Section title="Silence and the end">
        <Stack>
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <Seconds
              label="Hang up after silence of"
              value={conversation.hangup_after_seconds}
              min={10}
              max={3_600}
              onChange={(hangup_after_seconds) => change({ hangup_after_seconds })}
            />
            <Seconds
              label="Longest call"
              value={conversation.max_duration_seconds}
              min={60}
              max={3_600}
              onChange={(max_duration_seconds) => change({ max_duration_seconds })}
            />
          </SimpleGrid>
          <Switch
            label="Ask a silent caller whether anyone is there"
            checked={conversation.reengage_enabled}
            onChange={(event) => change({ reengage_enabled: event.currentTarget.checked })}
          />
          <Switch
            label="Say goodbye before hanging up for silence"
            checked={conversation.hangup_farewell_enabled}
            onChange={(event) => change({ hangup_farewell_enabled: event.currentTarget.checked })}
          />
        </Stack>
      </Section>
      <Section title="Record and time">
        <Stack>
          <Switch
            label="Record both sides"
            checked={conversation.record_audio}
            onChange={(event) => change({ record_audio: event.currentTarget.checked })}
          />
          <TextInput
            label="Time zone"
            description="An IANA name such as Europe/Berlin; empty: the caller’s, or UTC."
            value={conversation.timezone}
            onChange={(event) => change({ timezone: event.currentTarget.value })}
            maw={360}
          />
        </Stack>
      </Section>
    </Stack>
  );
}

function Turns({
  conversation,
  change,
}: {
  conversation: Conversation;
  change: (patch: Partial<Conversation>) => void;
}) {
  return (
    <Section title="Taking turns">
      <Stack>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <NumberInput
            label="Wait before answering"
            description="After a finished sentence."
            suffix=" ms"
            min={300}
            max={2_000}
            step={50}
            value={conversation.response_wait_ms}
            onChange={(value) => typeof value === 'number' && change({ response_wait_ms: value })}
          />
          <Select
            label="Eagerness"
            description="How sure it must be that the caller is done."
            allowDeselect={false}
            data={[
              { value: 'relaxed', label: 'Relaxed' },
              { value: 'balanced', label: 'Balanced' },
              { value: 'eager', label: 'Eager' },
            ]}
            value={conversation.eagerness}
            onChange={(value) => change({ eagerness: (value ?? 'balanced') as Conversation['eagerness'] })}
          />
          <Select
            label="Interrupted by"
            allowDeselect={false}
            data={[
              { value: 'low', label: 'Clear speech only' },
              { value: 'balanced', label: 'Speech, not by an “uh-huh”' },
              { value: 'high', label: 'Any utterance' },
            ]}
            value={conversation.interruption_sensitivity}
            onChange={(value) =>
              change({
                interruption_sensitivity: (value ?? 'balanced') as Conversation['interruption_sensitivity'],
              })
            }
          />
          <TagsInput
            label="Never interrupted by"
            description="Phrases such as “go on”."
            maxTags={50}
            value={conversation.interruption_ignore_phrases}
            onChange={(phrases) => change({ interruption_ignore_phrases: phrases })}
          />
        </SimpleGrid>
        <Switch
          label="Callers may interrupt"
          checked={conversation.interruptible}
          onChange={(event) => change({ interruptible: event.currentTarget.checked })}
        />
        <Switch
          label="Think ahead"
          description="Begins the answer while the caller may still go on; nothing of it is said too early."
          checked={conversation.speculative_response}
          onChange={(event) => change({ speculative_response: event.currentTarget.checked })}
        />
      </Stack>
    </Section>
  );
}

function Seconds({
  label,
  value,
  min,
  max,
  onChange,
}: {
  label: string;
  value: number;
  min: number;
  max: number;
  onChange: (seconds: number) => void;
}) {
  return (
    <NumberInput
      label={label}
      suffix=" s"
      min={min}
      max={max}
      value={value}
      onChange={(next) => typeof next === 'number' && onChange(next)}
    />
  );
}
