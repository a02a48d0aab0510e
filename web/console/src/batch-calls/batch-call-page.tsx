/** One batch: its progress, pause and cancel, and every number with its calls. */
import { Alert, Button, Group, Select, Text } from '@mantine/core';
import { Fragment, useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { BatchCall } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Id } from '../parts/copy.tsx';
import { dateTime, words } from '../parts/format.ts';
import { Page, Section } from '../parts/page.tsx';
import { LoadedPage } from '../parts/states.tsx';
import { BatchRows } from './batch-rows.tsx';
import { BatchProgress } from './progress.tsx';

const POLL_MS = 2_000;

export default function BatchCallPage() {
  const { batchId = '' } = useParams<{ batchId: string }>();
  const [isOver, setOver] = useState(false);
  const batch = useRead<BatchCall>(`/v1/agent/batch-calls/${batchId}`, {
    refetchMs: isOver ? false : POLL_MS,
  });
  if (!isOver && batch.data?.finished_at) setOver(true);
  return (
    <LoadedPage query={batch} kind="batch" all={['/batch-calls', 'All batches']}>
      {(record) => <Batch batch={record} />}
    </LoadedPage>
  );
}

function Batch({ batch }: { batch: BatchCall }) {
  const [state, setState] = useState<string | null>(null);
  const isOver = batch.finished_at !== null;
  return (
    <Page
      title={batch.name === '' ? 'Batch' : batch.name}
      intro={
        <Group gap="sm" mt={4}>
          <StateBadge state={batch.status} />
          <Id value={batch.batch_call_id} label="the batch’s id" />
        </Group>
      }
      actions={<Actions batch={batch} />}
    >
      {batch.status_reason !== null && (
        <Alert color="yellow" variant="outline" title={`Paused: ${words(batch.status_reason).toLowerCase()}`}>
          Nobody else is called until this is fixed and the batch is resumed. No number is lost.
        </Alert>
      )}
      <Section title="Progress">
        <BatchProgress batch={batch} />
      </Section>
      <Settings batch={batch} />
      <Select
        label="Numbers"
        placeholder="All"
        clearable
        maw={240}
        data={Object.keys(batch.counts)
          .filter((name) => name !== 'opted_out')
          .map((name) => ({ value: name, label: words(name) }))}
        value={state}
        onChange={setState}
      />
      <BatchRows batchId={batch.batch_call_id} state={state} refetchMs={isOver ? false : POLL_MS} />
    </Page>
  );
}

function Actions({ batch }: { batch: BatchCall }) {
  const path = `/v1/agent/batch-calls/${batch.batch_call_id}`;
  const [, go] = useLocation();
  const touches = ['/v1/agent/batch-calls'];
  const pause = useChange(() => call('POST', `${path}/pause`), {
    touches,
    done: 'Paused; calls in progress continue',
  });
  const resume = useChange(() => call('POST', `${path}/resume`), { touches, done: 'The batch continues' });
  const cancel = useChange(() => call('POST', `${path}/cancel`), {
    touches,
    done: 'Cancelled; calls in progress continue',
  });
  const remove = useChange(() => call('DELETE', path), {
    touches,
    done: 'Deleted',
    onDone: () => go('/batch-calls'),
  });
  if (batch.finished_at !== null)
    return (
      <ConfirmButton
        title="Delete this batch?"
        text="Its numbers and their results are removed; the calls stay."
        onConfirm={() => remove.mutate()}
      >
        Delete
      </ConfirmButton>
    );
  if (batch.status === 'cancelled') return null;
  return (
    <>
      {batch.status === 'paused' ? (
        <Button loading={resume.isPending} onClick={() => resume.mutate()}>
          Resume
        </Button>
      ) : (
        <Button variant="default" loading={pause.isPending} onClick={() => pause.mutate()}>
          Pause
        </Button>
      )}
      <ConfirmButton
        title="Cancel this batch?"
        text="Nobody else is called. Calls in progress continue to their end."
        onConfirm={() => cancel.mutate()}
      >
        Cancel batch
      </ConfirmButton>
    </>
  );
}

function Settings({ batch: { schedule, pacing, retry, disclosure, ...batch } }: { batch: BatchCall }) {
  const { calling_hours: hours } = schedule;
  const facts = [
    ['Created', dateTime(batch.created_at)],
    ['Not before', dateTime(schedule.start_at)],
    [
      'Calling hours',
      hours === null
        ? 'Any'
        : `${hours.start} to ${hours.end} local time, ${hours.days.map(words).join(', ')}`,
    ],
    ['Pace', `${pacing.concurrent_calls} at once, ${pacing.calls_per_minute} a minute`],
    [
      'Retries',
      retry.max_attempts === 1
        ? 'No'
        : `up to ${retry.max_attempts} calls on ${retry.on.map(words).join(', ').toLowerCase()}`,
    ],
    ['Disclosure', disclosure === '' ? '–' : disclosure],
  ] as const;
  return (
    <Section title="Settings">
      <dl className="findings">
        {facts.map(([name, value]) => (
          <Fragment key={name}>
            <Text component="dt" size="sm" c="dimmed">
              {name}
            </Text>
            <Text component="dd" size="sm">
              {value}
            </Text>
          </Fragment>
        ))}
      </dl>
    </Section>
  );
}
