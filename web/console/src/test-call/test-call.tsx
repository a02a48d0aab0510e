/**
 * A test call with the saved draft, by microphone, text or keypad. Shows the transcript, tool calls and the
 * analysis after the call.
 */
import { Alert, Button, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconMicrophone, IconMicrophoneOff, IconPhoneOff } from '@tabler/icons-react';
import { useState } from 'react';
import { useRead } from '../api/queries.ts';
import type { Agent, SessionDetail } from '../api/types.ts';
import { AnalysisResult } from '../calls/analysis-result.tsx';
import { StateBadge } from '../parts/badges.tsx';
import { Composer } from '../parts/composer.tsx';
import { words } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { Keypad } from './keypad.tsx';
import { type Entry, type TestCallState, useTestCall } from './use-test-call.ts';

const MODES = { listening: 'Listening', thinking: 'Thinking', speaking: 'Speaking' } as const;

export function TestCall({ agent, isDirty }: { agent: Agent; isDirty: boolean }) {
  const test = useTestCall(agent.agent_id);
  const isLive = test.status === 'connected' || test.status === 'reconnecting';
  return (
    <Stack>
      {isDirty && (
        <Alert color="yellow" variant="outline">
          The call uses the last saved draft. Save first to hear your changes.
        </Alert>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Section title="Call" aside={<StatusBadge test={test} />}>
          <Stack>
            <Text size="sm" c="dimmed">
              Talks to the draft with real tools, for free. It appears in no list and sends no webhooks.
            </Text>
            <Controls test={test} isLive={isLive} />
            {test.problem !== null && (
              <Alert color="red" variant="outline" role="alert">
                {test.problem}
              </Alert>
            )}
            <Keypad isLive={isLive} onEntry={(digits) => test.say(`Keypad entry: ${digits}`)} />
          </Stack>
        </Section>
        <Section title="Transcript">
          <Stack>
            <Entries entries={test.entries} />
            <Composer isLive={isLive} hint="Start a call to type" onSend={test.say} />
          </Stack>
        </Section>
      </SimpleGrid>
      {test.status === 'ended' && test.sessionId !== null && (
        <Afterwards agentId={agent.agent_id} sessionId={test.sessionId} />
      )}
    </Stack>
  );
}

function StatusBadge({ test }: { test: TestCallState }) {
  if (test.status === 'connected') return <StateBadge state="live" label={MODES[test.mode]} />;
  if (test.status === 'ended')
    return (
      <StateBadge state="completed" label={`Ended: ${words(test.endReason ?? 'ended').toLowerCase()}`} />
    );
  return (
    <StateBadge
      state={test.status === 'idle' ? 'queued' : 'pending'}
      label={test.status === 'idle' ? 'Not connected' : `${words(test.status)}…`}
    />
  );
}

function Controls({ test, isLive }: { test: TestCallState; isLive: boolean }) {
  const [isMuted, setMuted] = useState(false);
  if (!isLive) {
    const isConnecting = test.status === 'connecting';
    return (
      <Group>
        <Button
          loading={isConnecting}
          leftSection={<IconMicrophone size={16} />}
          onClick={() => void test.start(true)}
        >
          Talk
        </Button>
        <Button variant="default" disabled={isConnecting} onClick={() => void test.start(false)}>
          Type only
        </Button>
      </Group>
    );
  }
  const toggle = () => {
    test.setMuted(!isMuted);
    setMuted(!isMuted);
  };
  return (
    <Group>
      <Button color="red.8" leftSection={<IconPhoneOff size={16} />} onClick={test.end}>
        Hang up
      </Button>
      <Button
        variant="default"
        aria-pressed={isMuted}
        leftSection={<IconMicrophoneOff size={16} />}
        onClick={toggle}
      >
        {isMuted ? 'Unmute' : 'Mute'}
      </Button>
    </Group>
  );
}

function Entries({ entries }: { entries: readonly Entry[] }) {
  if (entries.length === 0) return <Text c="dimmed">What is said and what the agent does appears here.</Text>;
  return (
    <Stack gap={6} component="ol" aria-live="polite" p={0} m={0} style={{ listStyle: 'none' }}>
      {entries.map((entry) =>
        entry.kind === 'speech' ? (
          <li
            key={entry.id}
            className="line"
            style={{ '--speaker': `var(--${entry.role})` } as React.CSSProperties}
          >
            <Text size="xs" c="dimmed">
              {entry.role === 'user' ? 'You' : 'Agent'}
            </Text>
            {entry.text}
          </li>
        ) : (
          <li key={entry.id} className="note-line">
            Tool <strong>{entry.name}</strong> {entry.state}
            <div className="mono">{entry.detail}</div>
          </li>
        ),
      )}
    </Stack>
  );
}

function Afterwards({ agentId, sessionId }: { agentId: string; sessionId: string }) {
  const preview = useRead<SessionDetail>(`/v1/agent/agents/${agentId}/preview-sessions/${sessionId}`, {
    refetchMs: 3_000,
  });
  const analysis = preview.data?.analysis;
  return (
    <Section title="Analysis">
      {analysis ? (
        <AnalysisResult analysis={analysis} items={preview.data?.items ?? []} />
      ) : (
        <Text c="dimmed">No analysis yet.</Text>
      )}
    </Section>
  );
}
