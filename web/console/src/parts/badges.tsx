/** States as small labels: words carry the meaning, colour repeats it. */
import { Badge } from '@mantine/core';
import { words } from './format.ts';

const COLORS: Readonly<Record<string, string>> = {
  active: 'teal',
  delivered: 'teal',
  passed: 'teal',
  success: 'teal',
  live: 'teal',
  registered: 'teal',
  completed: 'indigo',
  running: 'indigo',
  calling: 'indigo',
  queued: 'gray',
  pending: 'yellow',
  paused: 'yellow',
  busy: 'yellow',
  no_answer: 'yellow',
  unknown: 'yellow',
  draft: 'gray',
  provisioning: 'yellow',
  retrying: 'yellow',
  registering: 'yellow',
  refused: 'red',
  failed: 'red',
  failure: 'red',
  error: 'red',
  dropped: 'red',
};

/** A state from the API. */
export function StateBadge({ state, label }: { state: string; label?: string }) {
  return (
    <Badge
      variant="dot"
      color={COLORS[state] ?? 'gray'}
      tt="none"
      fw={500}
      c="var(--mantine-color-text)"
      miw="max-content"
    >
      {label ?? words(state)}
    </Badge>
  );
}
