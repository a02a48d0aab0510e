/** A colleague's controls on the page of a running call: Listen, Take over, Hand back. */
import { Button, Group, Text } from '@mantine/core';
import { IconEar, IconMicrophone, IconPhoneOff, IconRobot } from '@tabler/icons-react';
import { type ParticipantState, useParticipant } from './use-participant.ts';

const SAYS: Readonly<Record<ParticipantState, string>> = {
  away: '',
  joining: 'Connecting…',
  listening: 'You hear both sides; nobody hears you.',
  talking: 'You talk with the caller; the agent is silent.',
  over: 'The call is over.',
};

export function JoinCall({ sessionId }: { sessionId: string }) {
  const { state, isBusy, problem, listen, takeOver, leave } = useParticipant(sessionId);
  const isIn = state === 'listening' || state === 'talking';
  return (
    <Group>
      {!isIn && (
        <Button
          size="xs"
          leftSection={<IconEar size={16} />}
          loading={isBusy}
          disabled={state === 'over'}
          onClick={listen}
        >
          Listen
        </Button>
      )}
      {state === 'talking' ? (
        <Button size="xs" leftSection={<IconRobot size={16} />} loading={isBusy} onClick={listen}>
          Hand back
        </Button>
      ) : (
        <Button
          size="xs"
          variant={isIn ? 'filled' : 'default'}
          leftSection={<IconMicrophone size={16} />}
          loading={isBusy}
          disabled={state === 'over'}
          onClick={takeOver}
        >
          Take over
        </Button>
      )}
      {isIn && (
        <Button size="xs" variant="default" leftSection={<IconPhoneOff size={16} />} onClick={leave}>
          {state === 'talking' ? 'Leave' : 'Stop listening'}
        </Button>
      )}
      <Text size="sm" role="status">
        {problem ?? SAYS[state]}
      </Text>
    </Group>
  );
}
