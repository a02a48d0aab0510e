/** Settings for phone calls only: the keypad, transfers, and the webhook before a call. */
import { NumberInput, Select, SimpleGrid, Stack, Switch } from '@mantine/core';
import type { AgentConfig } from '../api/types.ts';
import { Section } from '../parts/page.tsx';
import { AutomatedLines } from './automated-lines-section.tsx';
import { type EditorProps, NO_KEYS } from './draft.ts';
import { KeypadMenu } from './keypad-menu.tsx';
import { TransferDestinations } from './transfer-destinations.tsx';
import { InitWebhook } from './webhooks-sections.tsx';

type KeypadInput = AgentConfig['conversation']['keypad_input'];

const TERMINATORS = [
  { value: '#', label: '#' },
  { value: '*', label: '*' },
  { value: '', label: 'Only a pause' },
];

export function PhoneTab({ config, set }: EditorProps) {
  const { keypad_input, keypad_menu } = config.conversation;
  return (
    <Stack>
      <TransferDestinations config={config} set={set} />
      <KeypadMenu
        menu={keypad_menu}
        change={(patch) => set('conversation', { keypad_menu: { ...keypad_menu, ...patch } })}
      />
      <Digits
        input={keypad_input}
        change={(patch) => set('conversation', { keypad_input: { ...keypad_input, ...patch } })}
      />
      <PressKeys config={config} set={set} />
      <AutomatedLines config={config} set={set} />
      <InitWebhook config={config} set={set} />
    </Stack>
  );
}

function PressKeys({ config, set }: EditorProps) {
  const keys = config.press_keys ?? NO_KEYS;
  return (
    <Section
      title="Keys that the agent presses"
      aside={
        <Switch
          label="Press keys"
          checked={keys.enabled}
          onChange={(event) => set('press_keys', { ...keys, enabled: event.currentTarget.checked })}
        />
      }
    >
      <Switch
        label="Hide them"
        description="In the transcript and the logs dots stand for card numbers and PINs."
        disabled={!keys.enabled}
        checked={keys.hide_keys}
        onChange={(event) => set('press_keys', { ...keys, hide_keys: event.currentTarget.checked })}
      />
    </Section>
  );
}

function Digits({ input, change }: { input: KeypadInput; change: (patch: Partial<KeypadInput>) => void }) {
  return (
    <Section
      title="Digits during the call"
      aside={
        <Switch
          label="Accept digits"
          checked={input.enabled}
          onChange={(event) => change({ enabled: event.currentTarget.checked })}
        />
      }
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Select
          label="An entry ends with"
          data={TERMINATORS}
          allowDeselect={false}
          disabled={!input.enabled}
          value={input.terminator}
          onChange={(value) => change({ terminator: (value ?? '#') as KeypadInput['terminator'] })}
        />
        <NumberInput
          label="Or after a pause of"
          suffix=" s"
          min={1}
          max={10}
          disabled={!input.enabled}
          value={input.inter_digit_timeout_seconds}
          onChange={(value) => typeof value === 'number' && change({ inter_digit_timeout_seconds: value })}
        />
      </SimpleGrid>
    </Section>
  );
}
