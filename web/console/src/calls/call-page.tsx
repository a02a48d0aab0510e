/** One call: waveform and transcript, latency of each turn, tool calls, analysis and webhooks. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { Link, useParams, useSearchParams } from 'wouter';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { Deliveries, ReplayedCall, SessionDetail } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Id } from '../parts/copy.tsx';
import { words } from '../parts/format.ts';
import { Page, Section } from '../parts/page.tsx';
import { Loaded, LoadedPage } from '../parts/states.tsx';
import { AroundCall } from '../text-sessions/around.tsx';
import { DeliveriesTable } from '../webhooks/deliveries-table.tsx';
import { AnalysisResult } from './analysis-result.tsx';
import { CallFacts } from './call-facts.tsx';
import { CallTags } from './call-tags.tsx';
import { otherParty } from './calls-table.tsx';
import { ExportCall } from './export-call.tsx';
import { JoinCall } from './join-call.tsx';
import { linkedMoment } from './linked-moment.ts';
import { MakeTest } from './make-test.tsx';
import { RecordingPlayer, type Seek } from './recording-player.tsx';
import { momentOf, Replay } from './replay.tsx';
import { Timeline } from './timeline.tsx';
import { UnheardCaller } from './unheard-caller.tsx';
import { Verdict, Waterfall } from './waterfall.tsx';

export default function CallPage() {
  const { sessionId = '' } = useParams<{ sessionId: string }>();
  const path = `/v1/agent/sessions/${sessionId}`;
  const session = useRead<SessionDetail>(path, { refetchMs: false });
  return (
    <LoadedPage query={session} kind="call" all={['/calls', 'All calls']}>
      {(detail) => <Call key={sessionId} path={path} session={detail} />}
    </LoadedPage>
  );
}

function Call({ path, session }: { path: string; session: SessionDetail }) {
  const isLive = session.status === 'active' || session.status === 'unknown' || session.status === 'pending';
  const [search] = useSearchParams();
  const linkedMs = linkedMoment(search, session);
  const [seek, setSeek] = useState<Seek | null>(null);
  const listenFrom = (atMs: number) => setSeek({ atMs, plays: true });
  useEffect(() => {
    if (linkedMs !== null) setSeek({ atMs: linkedMs, plays: false });
  }, [linkedMs]);
  const [divergence, setDivergence] = useState<ReplayedCall['divergence']>(null);
  const divergesAtMs = divergence && momentOf(divergence);
  const [nowMs, setNowMs] = useState<number | null>(null);
  const end = useChange(() => call('POST', `${path}/end`), {
    touches: ['/v1/agent/sessions'],
    done: 'The call is being ended',
  });
  return (
    <Page
      title={`${otherParty(session)} with ${session.agent_name}`}
      intro={
        <Group gap="sm" mt={4}>
          <StateBadge
            state={session.status}
            label={session.status === 'active' ? 'Running' : words(session.status)}
          />
          {session.end_reason !== null && <Text size="sm">{words(session.end_reason)}</Text>}
          <Id value={session.session_id} label="the session’s id" />
        </Group>
      }
      actions={
        isLive ? (
          <ConfirmButton
            color="red"
            title="End this call?"
            text="The agent hangs up at once, without a goodbye."
            onConfirm={() => end.mutate()}
          >
            End call
          </ConfirmButton>
        ) : (
          <Group gap="sm">
            <MakeTest sessionId={session.session_id} />
            <ExportCall sessionId={session.session_id} />
          </Group>
        )
      }
    >
      {session.dial_error !== undefined && (
        <Alert color="red" variant="outline" title="The call was not answered">
          {session.dial_error}
        </Alert>
      )}
      <Verdict turns={session.turns} sessionId={session.session_id} />
      <UnheardCaller session={session} isLive={isLive} />
      {isLive ? (
        <Alert color="teal" variant="outline" title="This call is in progress">
          <Stack gap="sm">
            What is said appears below after each turn; the recording is available once the call has ended.
            {session.status !== 'pending' && <JoinCall sessionId={session.session_id} />}
          </Stack>
        </Alert>
      ) : (
        <RecordingPlayer session={session} seek={seek} divergesAtMs={divergesAtMs} onTime={setNowMs} />
      )}
      <CallTags session={session} />
      <Section title="Latency of each turn">
        <Waterfall turns={session.turns} sessionId={session.session_id} />
      </Section>
      <CallFacts session={session} />
      <AroundCall session={session} />
      <Section title="Transcript">
        <Timeline
          session={session}
          nowMs={nowMs}
          linkedMs={linkedMs}
          divergesAtMs={divergesAtMs}
          onSeek={isLive ? null : listenFrom}
        />
      </Section>
      {!isLive && (
        <Replay session={session} divergence={divergence} onReplayed={setDivergence} onSeek={listenFrom} />
      )}
      <AnalysisSection path={path} session={session} />
      <DeliveriesSection path={path} />
      <Text size="sm">
        <Link className="text-link" href={`/calls?agent_id=${session.agent_id}`}>
          All calls of {session.agent_name}
        </Link>
      </Text>
    </Page>
  );
}

function AnalysisSection({ path, session }: { path: string; session: SessionDetail }) {
  const { analysis } = session;
  const again = useChange(() => call('POST', `${path}/analysis`), {
    touches: [path],
    done: 'The analysis is running again',
  });
  if (analysis === null) return null;
  const isRerunnable = analysis.status === 'skipped' || analysis.status === 'error';
  return (
    <Section
      title="Analysis"
      aside={
        isRerunnable && (
          <Button size="xs" variant="default" loading={again.isPending} onClick={() => again.mutate()}>
            Run again
          </Button>
        )
      }
    >
      <AnalysisResult analysis={analysis} items={session.items} />
    </Section>
  );
}

function DeliveriesSection({ path }: { path: string }) {
  const deliveries = useRead<Deliveries>(`${path}/deliveries`, {
    query: { page_size: 100 },
    refetchMs: 10_000,
  });
  return (
    <Stack gap="xs">
      <Text component="h2" fw={600}>
        Webhooks
      </Text>
      <Loaded query={deliveries}>
        {({ deliveries: rows }) =>
          rows.length === 0 ? (
            <Text c="dimmed">
              No webhooks for this call: its agent has no post-call webhook, or the call has not ended.
            </Text>
          ) : (
            <DeliveriesTable rows={rows} />
          )
        }
      </Loaded>
    </Stack>
  );
}
