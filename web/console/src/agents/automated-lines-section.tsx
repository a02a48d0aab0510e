/** Menus, queues and screening phones that answer the agent's own calls. */
import { NumberInput, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core';
import { Section } from '../parts/page.tsx';
import { type EditorProps, NO_LINES } from './draft.ts';

export function AutomatedLines({ config, set }: EditorProps) {
  const lines = { ...NO_LINES, ...config.automated_lines };
  const { enabled: isOn, introduction, hold_max_seconds, menu_max_repeats, voicemail_recording_url } = lines;
  return (
    <Section
      title="Menus, queues and screening"
      aside={
        <Switch
          label="Tell them from people"
          checked={isOn}
          onChange={(event) => set('automated_lines', { ...lines, enabled: event.currentTarget.checked })}
        />
      }
    >
      <Stack>
        <TextInput
          label="Said to a phone that screens the call"
          description="Who calls and why; empty: the model says it."
          maxLength={500}
          disabled={!isOn}
          value={introduction}
          onChange={(event) => set('automated_lines', { introduction: event.currentTarget.value })}
        />
        <TextInput
          label="A recorded message for mailboxes"
          description="Address of a WAV file; empty: the message is spoken."
          disabled={!isOn}
          value={voicemail_recording_url}
          onChange={(event) => set('automated_lines', { voicemail_recording_url: event.currentTarget.value })}
        />
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <NumberInput
            label="Longest hold"
            suffix=" s"
            min={30}
            max={3_600}
            disabled={!isOn}
            value={hold_max_seconds}
            onChange={(next) =>
              typeof next === 'number' && set('automated_lines', { hold_max_seconds: next })
            }
          />
          <NumberInput
            label="Answers to the same menu"
            min={1}
            max={10}
            disabled={!isOn}
            value={menu_max_repeats}
            onChange={(next) =>
              typeof next === 'number' && set('automated_lines', { menu_max_repeats: next })
            }
          />
        </SimpleGrid>
      </Stack>
    </Section>
  );
}
