/**
 * Headers of a tool's request. The API never returns credentials, so they must be typed again when the list
 * changes.
 */
import { Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { bearerValue } from '../../../../protocol/bearer-value.ts';
import type { Tool } from '../api/types.ts';
import { Add, Remove } from '../parts/list-buttons.tsx';

/** A header as sent to the API. */
export interface HeaderInput {
  readonly name: string;
  readonly kind: Tool['headers'][number]['kind'];
  readonly value: string;
}

const KINDS = [
  { value: 'custom', label: 'Header' },
  { value: 'authorization_bearer', label: 'Bearer credential' },
  { value: 'authorization_basic', label: 'Basic credential' },
];

/** Headers in editable form; the values of credentials are empty. */
export function editableHeaders(headers: Tool['headers']): HeaderInput[] {
  return headers.map(({ name, kind, value }) => ({ name, kind, value: value ?? '' }));
}

/** A header as saved: a bare bearer credential gets its `Bearer `. */
export function sentHeader(header: HeaderInput): HeaderInput {
  return header.kind === 'authorization_bearer' ? { ...header, value: bearerValue(header.value) } : header;
}

export function Headers({
  list,
  onChange,
}: {
  list: readonly HeaderInput[];
  onChange: (list: HeaderInput[]) => void;
}) {
  const change = (index: number, patch: Partial<HeaderInput>) =>
    onChange(list.map((one, at) => (at === index ? { ...one, ...patch } : one)));
  const hasCredential = list.some(({ kind }) => kind !== 'custom');
  return (
    <Stack gap="xs">
      <Text size="sm" fw={500}>
        Headers
      </Text>
      {hasCredential && (
        <Text size="sm" c="dimmed">
          Credentials are not shown. To change the headers, enter them again.
        </Text>
      )}
      {list.some((header) => sentHeader(header).value !== header.value) && (
        <Text size="sm" c="dimmed">
          “Bearer ” is added to the credential when you save.
        </Text>
      )}
      {list.map((header, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a header being typed has no identity but its place.
        <Group key={index} gap="xs" align="flex-end">
          <TextInput
            aria-label="Name of the header"
            placeholder="X-Shop"
            maxLength={128}
            value={header.name}
            onChange={(event) => change(index, { name: event.currentTarget.value })}
            w={180}
          />
          <Select
            aria-label="Kind of header"
            data={KINDS}
            allowDeselect={false}
            value={header.kind}
            onChange={(kind) => kind && change(index, { kind: kind as HeaderInput['kind'] })}
            w={170}
          />
          <TextInput
            aria-label={`Value of ${header.name === '' ? 'the header' : header.name}`}
            placeholder={header.kind === 'custom' ? 'Value' : 'Credential'}
            type={header.kind === 'custom' ? 'text' : 'password'}
            autoComplete="off"
            maxLength={4_000}
            value={header.value}
            onChange={(event) => change(index, { value: event.currentTarget.value })}
            style={{ flex: 1, minWidth: 160 }}
          />
          <Remove
            label={header.name === '' ? 'this header' : header.name}
            onClick={() => onChange(list.filter((_, at) => at !== index))}
          />
        </Group>
      ))}
      <Add label="a header" onClick={() => onChange([...list, { name: '', kind: 'custom', value: '' }])} />
    </Stack>
  );
}
