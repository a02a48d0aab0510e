/** Ids and texts that can be copied with one click. */
import { ActionIcon, Code, CopyButton, Group, Text, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';

/** A button that copies `value`. */
export function Copy({ value, label }: { value: string; label: string }) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : `Copy ${label}`}>
          <ActionIcon
            variant="subtle"
            color="gray"
            c="dimmed"
            size="sm"
            onClick={copy}
            aria-label={copied ? 'Copied' : `Copy ${label}`}
          >
            {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** A secret that is shown once, to be copied. */
export function Secret({ value, label }: { value: string; label: string }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Code style={{ overflowWrap: 'anywhere' }}>{value}</Code>
      <Copy value={value} label={label} />
    </Group>
  );
}

/** An id, complete or shortened, with its copy button. */
export function Id({
  value,
  label = 'the id',
  isShort = false,
}: {
  value: string;
  label?: string;
  isShort?: boolean;
}) {
  return (
    <Group gap={4} wrap="nowrap" display="inline-flex">
      <Text component="span" className="mono" c="dimmed">
        {isShort && value.length > 12 ? `${value.slice(0, 8)}…` : value}
      </Text>
      <Copy value={value} label={label} />
    </Group>
  );
}
