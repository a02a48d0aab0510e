/** A conversation in writing with the published agent: a real text session, which is charged and listed. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { Agent, TextSessionDetail } from '../api/types.ts';
import { Composer } from '../parts/composer.tsx';
import { isFocusLost } from '../parts/focus.ts';
import { dollars } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { Loaded } from '../parts/states.tsx';
import { PendingLines, UnansweredMessage } from './pending-message.tsx';
import { endOf, TextStatus } from './text-session.tsx';
import { type TextChat, useTextChat } from './use-text-chat.ts';
import { WrittenItems } from './written-items.tsx';

export function TryInWriting({ agent }: { agent: Agent }) {
  const chat = useTextChat(agent.agent_id);
  const isPublished = agent.publication_state !== 'draft';
  return (
    <Stack>
      {isPublished && agent.has_unpublished_changes && (
        <Alert color="yellow" variant="outline">
          The published version answers, without the changes of the draft. A test call talks to the draft.
        </Alert>
      )}
      {chat.sessionId === null ? (
        <Beginning chat={chat} isPublished={isPublished} />
      ) : (
        <>
          <Loaded query={chat.session}>{(session) => <Conversation chat={chat} session={session} />}</Loaded>
          {chat.session.isLoadingError && (
            <Group>
              <Button variant="default" onClick={chat.leave}>
                Start another
              </Button>
            </Group>
          )}
        </>
      )}
    </Stack>
  );
}

function Beginning({ chat, isPublished }: { chat: TextChat; isPublished: boolean }) {
  return (
    <Section title="Try it in writing">
      <Stack align="flex-start">
        <Text size="sm" c="dimmed">
          Writes with the published agent, with its real tools. Each message has its price, and the
          conversation is listed under Text sessions.
        </Text>
        {!isPublished && (
          <Alert color="yellow" variant="outline">
            Only a published agent answers in writing. Publish it first, or make a test call.
          </Alert>
        )}
        <Group>
          <Button disabled={!isPublished} loading={chat.isBeginning} onClick={() => chat.begin(false)}>
            Write first
          </Button>
          <Button
            variant="default"
            disabled={!isPublished || chat.isBeginning}
            onClick={() => chat.begin(true)}
          >
            Let the agent begin
          </Button>
        </Group>
        {chat.problem !== null && (
          <Alert color="red" variant="outline" role="alert">
            {chat.problem}
          </Alert>
        )}
      </Stack>
    </Section>
  );
}

function Conversation({ chat, session }: { chat: TextChat; session: TextSessionDetail }) {
  const isLive = session.status === 'active';
  const [beganLive] = useState(isLive);
  const unanswered = chat.pending.filter(({ problem }) => problem !== null);
  return (
    <Section title="Conversation" aside={<State session={session} />}>
      <Stack>
        <Log chat={chat} session={session} />
        {unanswered.map((message) => (
          <UnansweredMessage
            key={message.key}
            message={message}
            onAgain={isLive ? () => chat.sendAgain(message) : null}
            onDismiss={() => chat.dismiss(message.key)}
          />
        ))}
        <Composer
          isLive={isLive}
          focusWhen={unanswered.length}
          hint="The conversation has ended"
          onSend={chat.send}
        />
        {isLive ? (
          <Group>
            <Button variant="default" onClick={chat.end}>
              End conversation
            </Button>
            <RecordLink session={session} />
          </Group>
        ) : (
          <Ended session={session} takesFocus={beganLive} onLeave={chat.leave} />
        )}
      </Stack>
    </Section>
  );
}

function Ended({
  session,
  takesFocus,
  onLeave,
}: {
  session: TextSessionDetail;
  takesFocus: boolean;
  onLeave: () => void;
}) {
  const another = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // The field and the button that were used last are disabled and gone.
    if (takesFocus && isFocusLost()) another.current?.focus();
  }, [takesFocus]);
  return (
    <Alert color="indigo" variant="outline" role="status" title="The conversation has ended">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">Ended by: {endOf(session).toLowerCase()}.</Text>
        <Group>
          <Button ref={another} variant="default" onClick={onLeave}>
            Start another
          </Button>
          <RecordLink session={session} />
        </Group>
      </Stack>
    </Alert>
  );
}

function State({ session }: { session: TextSessionDetail }) {
  return (
    <Group gap="sm">
      <Text size="sm" c="dimmed" className="tabular">
        {dollars(session.cost)}
      </Text>
      <TextStatus status={session.status} />
    </Group>
  );
}

function RecordLink({ session }: { session: TextSessionDetail }) {
  return (
    <Link className="text-link" href={`/text-sessions/${session.text_session_id}`}>
      Its record
    </Link>
  );
}

/** The messages, also those being written; the newest line stays in view. */
function Log({ chat: { pending }, session }: { chat: TextChat; session: TextSessionDetail }) {
  const box = useRef<HTMLElement>(null);
  const waiting = pending.filter(({ problem }) => problem === null);
  const shown = session.items.length + waiting.reduce((sum, one) => sum + 1 + one.reply.length, 0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls whenever more is shown.
  useEffect(() => {
    box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [shown]);
  return (
    <section
      ref={box}
      className="chat-log"
      role="log"
      aria-label="Messages"
      aria-busy={waiting.length > 0}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1).
      tabIndex={0}
    >
      <WrittenItems session={session}>
        {waiting.length > 0 && waiting.map((message) => <PendingLines key={message.key} message={message} />)}
      </WrittenItems>
    </section>
  );
}
