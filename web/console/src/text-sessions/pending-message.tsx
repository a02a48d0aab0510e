/** A message that was sent and has no answer yet, or gets none. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { Said, speakerStyle } from '../calls/item-lines.tsx';
import { StateBadge } from '../parts/badges.tsx';
import type { PendingMessage } from './use-text-chat.ts';

/** The message, the tools that the agent uses for it, and what the agent has written so far. */
export function PendingLines({ message }: { message: PendingMessage }) {
  const { content, at, tools, reply, isConnected } = message;
  return (
    <li>
      {content !== null && (
        <div className="written">
          <Said item={{ role: 'user', content, created_at: at }} person="Person" />
        </div>
      )}
      {tools.map(({ tool_name, status }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: tools are only ever added at the end.
        <div key={index} className="note-line">
          Tool <strong>{tool_name}</strong> <StateBadge state={status} />
        </div>
      ))}
      <div className="written">
        <div className="line" style={speakerStyle('assistant')}>
          <Text size="xs" c="dimmed" component="span" display="block">
            {isConnected ? 'Agent is writing…' : 'The connection broke. Reconnecting…'}
          </Text>
          {reply}
        </div>
      </div>
    </li>
  );
}

/** A message without an answer, and why; `onAgain` is null if none can be sent any more. */
export function UnansweredMessage({
  message: { content, problem },
  onAgain,
  onDismiss,
}: {
  message: PendingMessage;
  onAgain: (() => void) | null;
  onDismiss: () => void;
}) {
  return (
    <Alert color="red" variant="outline" role="alert" title="A message got no answer">
      <Stack gap="sm" align="flex-start">
        {content !== null && <Text size="sm">“{content}”</Text>}
        <Text size="sm">{problem}</Text>
        <Group>
          {onAgain && (
            <Button size="xs" variant="default" onClick={onAgain}>
              Send again
            </Button>
          )}
          <Button size="xs" variant="default" onClick={onDismiss}>
            Dismiss
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}
