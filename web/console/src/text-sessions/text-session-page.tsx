/** One text session: what was written and done, its state and cost, and the conversations around it. */
import { Alert, Group, Text } from '@mantine/core';
import { Link, useParams } from 'wouter';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { TextSessionDetail } from '../api/types.ts';
import { AnalysisResult } from '../calls/analysis-result.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Id } from '../parts/copy.tsx';
import { type Fact, Facts, numberFact } from '../parts/facts.tsx';
import { dateTime, dollars } from '../parts/format.ts';
import { Page, Section } from '../parts/page.tsx';
import { LoadedPage } from '../parts/states.tsx';
import { AroundTextSession } from './around.tsx';
import {
  endOf,
  isFromConsole,
  personOf,
  TEXT_SESSIONS,
  TextStatus,
  textSessionPath,
} from './text-session.tsx';
import { WrittenItems } from './written-items.tsx';

/** While a session goes on it is read again and again: there is no stream of the messages of others. */
const REFRESH_MS = 3_000;

export default function TextSessionPage() {
  const { sessionId = '' } = useParams<{ sessionId: string }>();
  const session = useRead<TextSessionDetail>(textSessionPath(sessionId), {
    refetchMs: (last) => (last && isSettled(last) ? false : REFRESH_MS),
  });
  return (
    <LoadedPage query={session} kind="text session" all={['/text-sessions', 'All text sessions']}>
      {(detail) => <TextSession session={detail} />}
    </LoadedPage>
  );
}

/** True once nothing changes any more. */
function isSettled({ status, analysis }: TextSessionDetail): boolean {
  return status === 'ended' && analysis?.status !== 'queued' && analysis?.status !== 'running';
}

function TextSession({ session }: { session: TextSessionDetail }) {
  const isLive = session.status === 'active';
  const end = useChange(() => call('POST', `${textSessionPath(session.text_session_id)}/end`), {
    touches: [TEXT_SESSIONS],
    done: 'The conversation has ended',
  });
  return (
    <Page
      title={`${personOf(session)} with ${session.agent_name}`}
      intro={
        <Group gap="sm" mt={4}>
          <TextStatus status={session.status} />
          {session.end_reason !== null && <Text size="sm">Ended by: {endOf(session).toLowerCase()}</Text>}
          <Id value={session.text_session_id} label="the session’s id" />
        </Group>
      }
      actions={
        isLive && (
          <ConfirmButton
            color="red"
            title="End this conversation?"
            text="Messages that wait for an answer get none, and are not charged."
            onConfirm={() => end.mutate()}
          >
            End conversation
          </ConfirmButton>
        )
      }
    >
      {isLive && (
        <Alert color="teal" variant="outline" title="This conversation goes on">
          Messages appear below within seconds.{' '}
          {isFromConsole(session) && (
            <Link className="text-link" href={writeLink(session)}>
              Go on writing
            </Link>
          )}
        </Alert>
      )}
      <Facts facts={factsOf(session)} />
      <AroundTextSession session={session} />
      <Section title="Conversation">
        <WrittenItems session={session} />
      </Section>
      {session.analysis !== null && (
        <Section title="Analysis">
          <AnalysisResult analysis={session.analysis} items={session.items} />
        </Section>
      )}
      <Text size="sm">
        <Link className="text-link" href={`/text-sessions?agent_id=${session.agent_id}`}>
          All text sessions of {session.agent_name}
        </Link>
      </Text>
    </Page>
  );
}

/** The agent's page, where this session goes on. */
function writeLink({ agent_id, text_session_id }: TextSessionDetail): string {
  return `/agents/${agent_id}/write?session=${text_session_id}`;
}

function factsOf(session: TextSessionDetail): readonly Fact[] {
  return [
    [
      'Agent',
      <Link key="agent" className="text-link" href={`/agents/${session.agent_id}`}>
        {session.agent_name}
      </Link>,
    ],
    ['Medium', session.medium === 'sms' ? 'SMS' : 'Chat'],
    ...numberFact('From', session.caller_number),
    ...numberFact('To', session.dialed_number),
    ...(session.end_user_id === null ? [] : [['User', session.end_user_id] as const]),
    ['Began', dateTime(session.created_at)],
    ['Last message', dateTime(session.last_message_at)],
    session.ended_at === null
      ? ['Ends if idle at', dateTime(session.idle_at)]
      : ['Ended', dateTime(session.ended_at)],
    ['Messages', session.message_count],
    ['Cost', dollars(session.cost)],
  ];
}
