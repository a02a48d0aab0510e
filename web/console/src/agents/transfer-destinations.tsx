/** Destinations to which the agent may transfer a caller, and how. */
import { Group, Select, SimpleGrid, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import type { AgentConfig } from '../api/types.ts';
import { Add, Remove } from '../parts/list-buttons.tsx';
import { Section } from '../parts/page.tsx';
import type { EditorProps } from './draft.ts';

type Destination = AgentConfig['conversation']['transfer_destinations'][number];
type Change = (patch: Partial<Destination>) => void;

const NEW: Destination = {
  type: 'phone',
  label: '',
  description: '',
  phone_number: '',
  sip_uri: '',
  mode: 'cold',
  warm_connect: 'confirm',
  announcement_mode: 'generated',
  announcement_message: '',
  warm_briefing_instructions: '',
  on_failure: { action: 'return_to_agent', message: '' },
};
const ADDRESSES = {
  phone: { label: 'Number', placeholder: '+14155550123', field: 'phone_number' },
  sip: { label: 'Address', placeholder: 'sip:desk@example.com', field: 'sip_uri' },
  sip_phone: { label: 'Extension of the phone', placeholder: '204', field: 'phone_extension' },
} as const;
const MODES = [
  { value: 'cold', label: 'Immediately (cold)' },
  { value: 'warm', label: 'After the colleague answered (warm)' },
];
const CONNECTS = [
  { value: 'confirm', label: 'The colleague accepts with a key' },
  { value: 'direct', label: 'As soon as the colleague answers' },
  { value: 'briefing', label: 'After a briefing' },
];
const ANNOUNCEMENTS = [
  { value: 'generated', label: 'In its own words' },
  { value: 'fixed', label: 'Always the same words' },
  { value: 'off', label: 'Nothing' },
];
const FAILURES = [
  { value: 'return_to_agent', label: 'The agent continues with the caller' },
  { value: 'end_call', label: 'The call ends' },
];

export function TransferDestinations({ config, set }: EditorProps) {
  const { transfer_destinations: destinations, transfer_refuse_questions: refusesQuestions } =
    config.conversation;
  const put = (list: Destination[]) => set('conversation', { transfer_destinations: list });
  return (
    <Section
      title="Transfers"
      aside={<Add disabled={destinations.length >= 50} onClick={() => put([...destinations, NEW])} />}
    >
      <Stack gap="lg">
        {destinations.length === 0 && (
          <Text c="dimmed">
            The agent cannot transfer calls. Add a number, a SIP address or a phone that registers here, that
            it may transfer callers to.
          </Text>
        )}
        {destinations.map((destination, index) => (
          <Stack
            // biome-ignore lint/suspicious/noArrayIndexKey: a destination being typed has no identity but its place.
            key={index}
            component="fieldset"
            gap="sm"
            m={0}
            p="md"
            bd="1px solid var(--line)"
            style={{ borderRadius: 8, minWidth: 0 }}
          >
            <Where
              destination={destination}
              change={(patch) =>
                put(destinations.map((other, at) => (at === index ? changed(other, patch) : other)))
              }
              onRemove={() => put(destinations.filter((_, at) => at !== index))}
            />
          </Stack>
        ))}
        {destinations.length > 0 && (
          <Switch
            label="Not while it is asking a question"
            checked={refusesQuestions}
            onChange={(event) =>
              set('conversation', { transfer_refuse_questions: event.currentTarget.checked })
            }
          />
        )}
      </Stack>
    </Section>
  );
}

/** An empty extension is none. A registered phone needs no keys. */
function changed(destination: Destination, patch: Partial<Destination>): Destination {
  const { extension, phone_extension: phone, ...others } = { ...destination, ...patch };
  return {
    ...others,
    ...(extension && others.type !== 'sip_phone' ? { extension } : {}),
    ...(phone ? { phone_extension: phone } : {}),
  };
}

function Where({
  destination,
  change,
  onRemove,
}: {
  destination: Destination;
  change: Change;
  onRemove: () => void;
}) {
  const { label, placeholder, field } = ADDRESSES[destination.type];
  return (
    <>
      <Group align="flex-end" gap="xs">
        <TextInput
          label="Name"
          placeholder="Bookings desk"
          maxLength={64}
          value={destination.label}
          onChange={(event) => change({ label: event.currentTarget.value })}
          style={{ flex: 1, minWidth: 140 }}
        />
        <Select
          label="By"
          data={[
            { value: 'phone', label: 'Phone number' },
            { value: 'sip', label: 'SIP address' },
            { value: 'sip_phone', label: 'Registered phone' },
          ]}
          allowDeselect={false}
          value={destination.type}
          onChange={(type) => change({ type: (type ?? 'phone') as Destination['type'] })}
          w={150}
        />
        <TextInput
          label={label}
          placeholder={placeholder}
          value={destination[field] ?? ''}
          onChange={(event) => change({ [field]: event.currentTarget.value })}
          style={{ flex: 1, minWidth: 180 }}
        />
        {destination.type !== 'sip_phone' && (
          <TextInput
            label="Extension"
            placeholder=",,204#"
            maxLength={64}
            value={destination.extension ?? ''}
            onChange={(event) => change({ extension: event.currentTarget.value })}
            w={110}
          />
        )}
        <Remove
          label={destination.label === '' ? 'this destination' : destination.label}
          onClick={onRemove}
        />
      </Group>
      <TextInput
        label="When to use it"
        placeholder="The caller wants to speak to a person about a booking."
        maxLength={500}
        value={destination.description}
        onChange={(event) => change({ description: event.currentTarget.value })}
      />
      <How destination={destination} change={change} />
    </>
  );
}

function How({ destination, change }: { destination: Destination; change: Change }) {
  const { mode, warm_connect, announcement_mode, on_failure } = destination;
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Choice
          label="Transfer"
          data={MODES}
          value={mode}
          onChange={(value) => change({ mode: value as Destination['mode'] })}
        />
        {mode === 'warm' && (
          <Choice
            label="Connected"
            data={CONNECTS}
            value={warm_connect}
            onChange={(value) => change({ warm_connect: value as Destination['warm_connect'] })}
          />
        )}
        <Choice
          label="What the caller is told"
          data={ANNOUNCEMENTS}
          value={announcement_mode}
          onChange={(value) => change({ announcement_mode: value as Destination['announcement_mode'] })}
        />
        <Choice
          label="If nobody answers"
          data={FAILURES}
          value={on_failure.action}
          onChange={(value) =>
            change({ on_failure: { ...on_failure, action: value as Destination['on_failure']['action'] } })
          }
        />
      </SimpleGrid>
      {announcement_mode === 'fixed' && (
        <Words
          label="Announcement"
          value={destination.announcement_message}
          onChange={(text) => change({ announcement_message: text })}
        />
      )}
      {mode === 'warm' && warm_connect === 'briefing' && (
        <Words
          label="What the briefing says"
          maxLength={1_000}
          value={destination.warm_briefing_instructions}
          onChange={(text) => change({ warm_briefing_instructions: text })}
        />
      )}
      <Words
        label="Message if nobody answers"
        value={on_failure.message}
        onChange={(message) => change({ on_failure: { ...on_failure, message } })}
      />
    </>
  );
}

function Choice(props: {
  label: string;
  data: typeof MODES;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <Select {...props} allowDeselect={false} onChange={(value) => value !== null && props.onChange(value)} />
  );
}

function Words({
  label,
  value,
  maxLength = 500,
  onChange,
}: {
  label: string;
  value: string;
  maxLength?: number;
  onChange: (text: string) => void;
}) {
  return (
    <Textarea
      label={label}
      autosize
      maxLength={maxLength}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
