/** Listening to a running call in a LiveKit room, unseen and unheard. LiveKit's client is loaded with the first press. */
import { Button, Group, Text } from '@mantine/core';
import { IconEar, IconEarOff } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import type { Monitor } from '../../../client/livekit-monitor.ts';
import { ApiError, call } from '../api/client.ts';
import { messageOf } from '../api/queries.ts';
import type { MonitorGrant } from '../api/types.ts';

type State = 'silent' | 'joining' | 'listening' | 'over';

export function ListenIn({ sessionId }: { sessionId: string }) {
  const monitor = useRef<Monitor | null>(null);
  const isGone = useRef(false);
  const [state, setState] = useState<State>('silent');
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
      monitor.current?.leave();
    };
  }, []);

  const listen = async () => {
    setState('joining');
    setProblem(null);
    try {
      const [{ joinAsMonitor }, grant] = await Promise.all([
        import('../../../client/livekit-monitor.ts'),
        call<MonitorGrant>('POST', `/v1/agent/sessions/${sessionId}/monitor`),
      ]);
      monitor.current = await joinAsMonitor(grant, () => setState((before) => (before === 'silent' ? 'silent' : 'over')));
      if (isGone.current) monitor.current.leave();
      else setState('listening');
    } catch (error) {
      setState('silent');
      setProblem(
        error instanceof ApiError ? messageOf(error) : 'The room cannot be reached from this browser. Check that the address in LIVEKIT_URL can be.',
      );
    }
  };
  const stop = () => {
    setState('silent');
    monitor.current?.leave();
  };
  return (
    <Group>
      {state === 'listening' ? (
        <Button size="xs" variant="default" leftSection={<IconEarOff size={16} />} onClick={stop}>
          Stop listening
        </Button>
      ) : (
        <Button size="xs" leftSection={<IconEar size={16} />} loading={state === 'joining'} disabled={state === 'over'} onClick={() => void listen()}>
          Listen
        </Button>
      )}
      <Text size="sm" role="status">
        {problem ?? (state === 'listening' ? 'You hear both sides; nobody hears you.' : state === 'over' ? 'The call is over.' : '')}
      </Text>
    </Group>
  );
}
