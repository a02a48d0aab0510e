/** Creates a batch: the list, agent and number, schedule, pace, retries and first message. */
import {
  Alert,
  Button,
  Checkbox,
  FileInput,
  Group,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
  type TextInputProps,
} from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { ApiError, call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { Agent, BatchCall, PhoneNumber } from '../api/types.ts';

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
/** A longer list would be hard to read; the remaining problems appear on the next attempt. */
const SHOWN_PROBLEMS = 20;

const DEFAULTS = {
  name: '',
  agent_id: null as string | null,
  phone_number_id: null as string | null,
  start_at: '',
  start: '09:00',
  end: '20:00',
  days: [...DAYS] as string[],
  concurrent_calls: 5,
  calls_per_minute: 30,
  max_attempts: 1,
  delay_minutes: 30,
  disclosure: '',
  has_opt_out: true,
  key: '9',
  phrases: 'stop calling, do not call, take me off',
  confirmation: 'You are off our list. We will not call you again. Goodbye.',
};
type Fields = typeof DEFAULTS;

export function NewBatch({ onDone }: { onDone: (batch: BatchCall) => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [fields, setFields] = useState(DEFAULTS);
  const set = (change: Partial<Fields>) => setFields({ ...fields, ...change });
  const create = useChange(
    (list: File) => call<BatchCall>('POST', '/v1/agent/batch-calls', formOf(list, fields)),
    {
      touches: ['/v1/agent/batch-calls'],
      done: 'The batch has started',
      onDone,
      quiet: true,
    },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (file) create.mutate(file);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <FileInput
          label="List"
          description={
            'CSV with a column to_number (+14155550123) and optionally to_extension, end_user_id and ' +
            'metadata; every other column is a variable'
          }
          placeholder="Choose a file"
          accept=".csv,text/csv"
          value={file}
          onChange={setFile}
          required
        />
        <TextInput
          label="Name"
          value={fields.name}
          placeholder={file?.name ?? ''}
          onChange={(event) => set({ name: event.currentTarget.value })}
        />
        <Caller fields={fields} set={set} />
        <Schedule fields={fields} set={set} />
        <Pacing fields={fields} set={set} />
        <Textarea
          label="Disclosure"
          description={
            'Who is calling, and that the call is automated, where the law requires it. Callees cannot ' +
            'interrupt it.'
          }
          autosize
          value={fields.disclosure}
          onChange={(event) => set({ disclosure: event.currentTarget.value })}
        />
        <OptOut fields={fields} set={set} />
        {create.error && <Problems error={create.error} />}
        <Button
          type="submit"
          loading={create.isPending}
          disabled={!file || fields.agent_id === null || fields.phone_number_id === null}
        >
          Start calling
        </Button>
      </Stack>
    </form>
  );
}

interface PartProps {
  readonly fields: Fields;
  readonly set: (change: Partial<Fields>) => void;
}

type TextName = { [Name in keyof Fields]: Fields[Name] extends string ? Name : never }[keyof Fields];

function TextField({
  fields,
  set,
  name,
  ...input
}: PartProps & { name: TextName } & Pick<
    TextInputProps,
    'label' | 'description' | 'type' | 'required' | 'maxLength'
  >) {
  return (
    <TextInput
      {...input}
      value={fields[name]}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
    />
  );
}

/** The agent that calls, and its number. */
function Caller({ fields, set }: PartProps) {
  const agents = useRead<{ agents: Agent[] }>('/v1/agent/agents', { query: { page_size: 100 } });
  const numbers = useRead<{ phone_numbers: PhoneNumber[] }>('/v1/agent/phone-numbers', {
    query: { page_size: 100 },
  });
  const callers = numbers.data?.phone_numbers.filter(({ supports_outbound }) => supports_outbound) ?? [];
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <Select
        label="Agent"
        required
        data={agents.data?.agents.map(({ agent_id, name }) => ({ value: agent_id, label: name })) ?? []}
        value={fields.agent_id}
        onChange={(agent_id) => set({ agent_id })}
      />
      <Select
        label="Calls from"
        required
        data={callers.map(({ phone_number_id, phone_number, label }) => ({
          value: phone_number_id,
          label: `${phone_number} ${label}`.trim(),
        }))}
        value={fields.phone_number_id}
        onChange={(phone_number_id) => set({ phone_number_id })}
      />
    </SimpleGrid>
  );
}

function Schedule({ fields, set }: PartProps) {
  const field = { fields, set };
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <TextField
          {...field}
          name="start_at"
          label="Not before"
          description="Your time; empty: now"
          type="datetime-local"
        />
        <TextField {...field} name="start" label="From" description="Their local time" type="time" required />
        <TextField {...field} name="end" label="Until" description="Their local time" type="time" required />
      </SimpleGrid>
      <Checkbox.Group label="On" value={fields.days} onChange={(days) => set({ days })}>
        <Group mt={4} gap="sm">
          {DAYS.map((day) => (
            <Checkbox key={day} value={day} label={`${day.charAt(0).toUpperCase()}${day.slice(1)}`} />
          ))}
        </Group>
      </Checkbox.Group>
    </>
  );
}

function Pacing({ fields, set }: PartProps) {
  const number = (
    name: 'concurrent_calls' | 'calls_per_minute' | 'max_attempts' | 'delay_minutes',
    label: string,
    max: number,
  ) => (
    <NumberInput
      label={label}
      min={1}
      max={max}
      allowDecimal={false}
      value={fields[name]}
      onChange={(value) => set({ [name]: typeof value === 'number' ? value : DEFAULTS[name] })}
    />
  );
  return (
    <SimpleGrid cols={{ base: 2, xs: 4 }}>
      {number('concurrent_calls', 'Concurrent', 500)}
      {number('calls_per_minute', 'Per minute', 1_000)}
      {number('max_attempts', 'Calls per number', 5)}
      {number('delay_minutes', 'Retry after (min)', 10_080)}
    </SimpleGrid>
  );
}

function OptOut({ fields, set }: PartProps) {
  const field = { fields, set };
  return (
    <>
      <Checkbox
        label="Callees can opt out of all batches"
        checked={fields.has_opt_out}
        onChange={(event) => set({ has_opt_out: event.currentTarget.checked })}
      />
      {fields.has_opt_out && (
        <>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <TextField
              {...field}
              name="key"
              label="With this key"
              description="A key of the phone"
              maxLength={1}
            />
            <TextField {...field} name="phrases" label="With these words" description="Separated by commas" />
          </SimpleGrid>
          <TextField {...field} name="confirmation" label="Then say" />
        </>
      )}
    </>
  );
}

/** Lists every invalid row with its line. */
function Problems({ error }: { error: unknown }) {
  const problems =
    error instanceof ApiError && error.fields.length > 0
      ? error.fields.map(({ msg }) => msg.replace(/^Value error, /, ''))
      : [String((error as Error).message)];
  return (
    <Alert color="red" variant="outline" title="Nothing was started" role="alert">
      {problems.slice(0, SHOWN_PROBLEMS).map((problem) => (
        <Text key={problem} size="sm">
          {problem}
        </Text>
      ))}
      {problems.length > SHOWN_PROBLEMS && <Text size="sm">and {problems.length - SHOWN_PROBLEMS} more</Text>}
    </Alert>
  );
}

function formOf(list: File, fields: Fields): FormData {
  const phrases = fields.phrases
    .split(',')
    .flatMap((phrase) => (phrase.trim() === '' ? [] : [phrase.trim()]));
  const form = new FormData();
  const json = {
    schedule: {
      start_at: fields.start_at === '' ? null : new Date(fields.start_at).toISOString(),
      calling_hours: { start: fields.start, end: fields.end, days: fields.days },
    },
    pacing: { concurrent_calls: fields.concurrent_calls, calls_per_minute: fields.calls_per_minute },
    retry: { max_attempts: fields.max_attempts, delay_seconds: fields.delay_minutes * 60 },
    opt_out: fields.has_opt_out
      ? { key: fields.key === '' ? null : fields.key, phrases, confirmation: fields.confirmation }
      : null,
  };
  for (const [name, value] of Object.entries(json)) form.set(name, JSON.stringify(value));
  form.set('agent_id', fields.agent_id ?? '');
  form.set('phone_number_id', fields.phone_number_id ?? '');
  form.set('name', fields.name.trim() === '' ? list.name.slice(0, 120) : fields.name.trim());
  form.set('disclosure', fields.disclosure);
  form.set('recipients', list);
  return form;
}
