/** Keypad menu at the start of a call: the meaning of each key, and what happens if none is pressed. */
import {
  Group,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import type { AgentConfig } from '../api/types.ts';
import { Add, Remove } from '../parts/list-buttons.tsx';
import { Section } from '../parts/page.tsx';

type Menu = AgentConfig['conversation']['keypad_menu'];
type Option = Menu['options'][number];
type Change = (patch: Partial<Menu>) => void;

const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '0', '*', '#'];

export function KeypadMenu({ menu, change }: { menu: Menu; change: Change }) {
  return (
    <Section
      title="Keypad menu"
      aside={
        <Switch
          label="Begin with a menu"
          checked={menu.enabled}
          onChange={(event) => change({ enabled: event.currentTarget.checked })}
        />
      }
    >
      {menu.enabled ? (
        <Stack>
          <Textarea
            label="What callers hear"
            placeholder="For bookings press one, for anything else press two."
            autosize
            minRows={2}
            value={menu.prompt}
            onChange={(event) => change({ prompt: event.currentTarget.value })}
          />
          <Options options={menu.options} onChange={(options) => change({ options })} />
          <Switch
            label="The choice may also be spoken"
            checked={menu.accept_speech}
            onChange={(event) => change({ accept_speech: event.currentTarget.checked })}
          />
          <WhenNothingIsPressed menu={menu} change={change} />
        </Stack>
      ) : (
        <Text c="dimmed">
          The agent greets callers itself. With a menu, the pressed key becomes a variable of its prompt.
        </Text>
      )}
    </Section>
  );
}

function Options({
  options,
  onChange,
}: {
  options: readonly Option[];
  onChange: (options: Option[]) => void;
}) {
  const change = (index: number, patch: Partial<Option>) =>
    onChange(options.map((option, at) => (at === index ? { ...option, ...patch } : option)));
  const free = KEYS.filter((key) => !options.some((option) => option.key === key));
  return (
    <Stack gap="xs">
      {options.map((option, index) => (
        <Group key={option.key} align="flex-end" gap="xs">
          <Select
            label="Key"
            data={KEYS.filter((key) => key === option.key || free.includes(key))}
            allowDeselect={false}
            value={option.key}
            onChange={(key) => key && change(index, { key })}
            w={80}
          />
          <TextInput
            label="Called"
            placeholder="Bookings"
            maxLength={64}
            value={option.label}
            onChange={(event) => change(index, { label: event.currentTarget.value })}
            style={{ flex: 1, minWidth: 140 }}
          />
          <TextInput
            label="Value of the variable"
            placeholder="bookings"
            maxLength={256}
            value={option.value}
            onChange={(event) => change(index, { value: event.currentTarget.value })}
            style={{ flex: 1, minWidth: 140 }}
          />
          <Remove
            label={`key ${option.key}`}
            onClick={() => onChange(options.filter((_, at) => at !== index))}
          />
        </Group>
      ))}
      <Add
        label="a key"
        disabled={free.length === 0}
        onClick={() => onChange([...options, { key: free[0] ?? '', label: '', value: '' }])}
      />
    </Stack>
  );
}

function WhenNothingIsPressed({ menu, change }: { menu: Menu; change: Change }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <TextInput
        label="Variable"
        description="Use it as a placeholder in the prompt."
        maxLength={64}
        value={menu.variable}
        onChange={(event) => change({ variable: event.currentTarget.value })}
      />
      <TextInput
        label="Value if nothing is chosen"
        description="After the last attempt."
        maxLength={256}
        value={menu.fallback_value}
        onChange={(event) => change({ fallback_value: event.currentTarget.value })}
      />
      <NumberInput
        label="Wait for a key"
        suffix=" s"
        min={1}
        max={30}
        value={menu.no_input_timeout_seconds}
        onChange={(value) => typeof value === 'number' && change({ no_input_timeout_seconds: value })}
      />
      <NumberInput
        label="Attempts"
        min={1}
        max={5}
        allowDecimal={false}
        value={menu.max_attempts}
        onChange={(value) => typeof value === 'number' && change({ max_attempts: value })}
      />
      <TextInput
        label="Said before another attempt"
        placeholder="Sorry, I did not get that."
        value={menu.retry_message}
        onChange={(event) => change({ retry_message: event.currentTarget.value })}
      />
    </SimpleGrid>
  );
}
