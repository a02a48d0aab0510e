/**
 * Conversation behaviour: when the agent answers, what interrupts it, how silence is handled, what is
 * recorded.
 */
import { Stack, Switch, TextInput } from '@mantine/core';
import type { AgentConfig } from '../api/types.ts';
import { Section } from '../parts/page.tsx';
import { DraftFields } from './conversation-fields.tsx';
import type { EditorProps } from './draft.ts';

export function ConversationTab({ config, set }: EditorProps) {
  const { conversation } = config;
  const change = (patch: Partial<AgentConfig['conversation']>) => set('conversation', patch);
  return (
    <Stack>
      <Section title="Taking turns">
        <Stack>
          <DraftFields section="turns" conversation={conversation} change={change} />
          <Switch
            label="The model says what it expects"
            description="After a question, in a cue that is never spoken: the agent knows the whole answer."
            checked={config.answer_hints?.enabled ?? false}
            onChange={(event) => set('answer_hints', { enabled: event.currentTarget.checked })}
          />
        </Stack>
      </Section>
      <Section title="Silence and the end">
        <DraftFields section="silence" conversation={conversation} change={change} />
      </Section>
      <Section title="Recording and time">
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
          />
        </Stack>
      </Section>
    </Stack>
  );
}
