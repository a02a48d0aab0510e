/** Replays a call with other settings: shows where it would first diverge, and links to that moment. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { ReplayFields } from '../agents/conversation-fields.tsx';
import { ApiError, call } from '../api/client.ts';
import { messageOf, useChange } from '../api/queries.ts';
import type { AgentConfig, ReplayedCall, SessionDetail } from '../api/types.ts';
import { percent, tenthsOfDay, timeOfDay } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { DEEDS } from './deeds.ts';

type Conversation = AgentConfig['conversation'];
type Divergence = NonNullable<ReplayedCall['divergence']>;

/** When the call would first have diverged, as wall time in ms. */
export function momentOf({ was, would_be }: Divergence): number {
  return Math.min(...[was, would_be].flatMap((moment) => (moment ? Date.parse(moment.at) : [])));
}

interface ReplayProps {
  readonly session: SessionDetail;
  readonly divergence: Divergence | null;
  onReplayed(divergence: Divergence | null): void;
  onSeek(atMs: number): void;
}

export function Replay({ session, divergence, onReplayed, onSeek }: ReplayProps) {
  const [settings, setSettings] = useState<Partial<Conversation>>({});
  const replay = useChange(
    () =>
      call<ReplayedCall>('POST', `/v1/agent/sessions/${session.session_id}/replay`, {
        conversation: settings,
      }),
    {
      touches: [],
      quiet: true,
      onDone: (answer) => onReplayed(answer.divergence),
    },
  );
  const change = (patch: Partial<Conversation>) => {
    setSettings((before) => ({ ...before, ...patch }));
    replay.reset();
    onReplayed(null);
  };
  const isChanged = Object.values(settings).some((value) => value !== undefined);
  return (
    <Section
      title="Replay with other settings"
      aside={
        <Button
          size="xs"
          variant="default"
          disabled={!isChanged}
          loading={replay.isPending}
          onClick={() => replay.mutate()}
        >
          Replay
        </Button>
      }
    >
      <Stack>
        <Text size="sm" c="dimmed">
          The recorded call is replayed with your changes. Empty fields keep the call’s settings.
        </Text>
        <ReplayFields settings={settings} change={change} />
        <div role="status">
          {replay.error && <Text size="sm">{problemOf(replay.error)}</Text>}
          {replay.data && <Outcome divergence={divergence} onSeek={onSeek} />}
        </div>
      </Stack>
    </Section>
  );
}

function problemOf(error: unknown): string {
  const isGone = error instanceof ApiError && error.status === 404;
  return isGone ? 'This call has no flight log that could be replayed, or it has expired.' : messageOf(error);
}

function Outcome({ divergence, onSeek }: { divergence: Divergence | null; onSeek: (atMs: number) => void }) {
  if (!divergence) return <Text size="sm">No noticeable difference: the call would have been the same.</Text>;
  const describeMoment = (moment: Divergence['was']) =>
    moment ? `${tenthsOfDay(moment.at)}, ${DEEDS[moment.did]}` : 'nothing more happened';
  return (
    <Alert
      variant="outline"
      color="grape"
      title={
        `From ${timeOfDay(new Date(momentOf(divergence)).toISOString())} the call would have been ` +
        'different'
      }
    >
      <Stack gap={4}>
        <Text size="sm">In the call: {describeMoment(divergence.was)}.</Text>
        <Text size="sm">With these settings: {describeMoment(divergence.would_be)}.</Text>
        <Text size="sm" c="dimmed">
          The rest belongs to a different call and cannot be compared: {percent(divergence.judged)} of the
          call was the same.
        </Text>
        <Group mt={4}>
          <Button size="xs" variant="default" onClick={() => onSeek(momentOf(divergence))}>
            Listen from there
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
