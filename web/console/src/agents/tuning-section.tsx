/**
 * Tuning: the effect that other waits would have had on an agent's latest calls. Each row is one combination
 * of settings, which can be put into the draft.
 */
import { Alert, Button, Group, NativeSelect, Stack, Table, Text } from '@mantine/core';
import { useSearchParams } from 'wouter';
import { call } from '../api/client.ts';
import { messageOf, useAsk, useChange } from '../api/queries.ts';
import type { AgentConfig, Tuning } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { milliseconds, percent, seconds, signedTime } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { DataTable } from '../parts/table.tsx';
import { CannotKnow } from './cannot-know.tsx';
import { describeSettings } from './conversation-fields.tsx';

type Candidate = Tuning['settings'][number];

/** Numbers of calls to choose from. */
const CALLS = ['20', '50', '100', '200'];
const DEFAULT_CALLS = '50';
const UNKNOWN = [
  'what callers would have said after another answer: each pause is judged from the real call',
  'pauses while the agent spoke, and calls without a flight log or of another version of Parley',
  'whether coming calls are like these: with few pauses, one caller more or less decides',
];

interface TuningProps {
  /** The saved draft. */
  readonly draft: AgentConfig;
  readonly isDirty: boolean;
}

export function TuningSection({ draft, isDirty }: TuningProps) {
  const [search, setSearch] = useSearchParams();
  const calls = search.get('calls') ?? DEFAULT_CALLS;
  const tuning = useAsk<Tuning>(`/v1/agent/agents/${draft.agent_id}/tuning`, { calls });
  return (
    <Section title="Tuning on past calls">
      <Stack>
        <Text size="sm" c="dimmed">
          Judges every pause of the latest calls again under other waits: whom the agent would have cut off,
          and how much sooner it would have answered. Nothing changes and nothing is charged.
        </Text>
        <Group align="flex-end" gap="sm">
          <NativeSelect
            label="Latest calls"
            data={CALLS.includes(calls) ? CALLS : [...CALLS, calls]}
            value={calls}
            onChange={(event) => setSearch({ calls: event.currentTarget.value }, { replace: true })}
          />
          <Button variant="default" loading={tuning.isFetching} onClick={() => void tuning.refetch()}>
            Judge them
          </Button>
        </Group>
        <div role="status">
          {tuning.isFetching && <Text size="sm">A worker judges the calls. This takes up to a minute.</Text>}
          {tuning.data && !tuning.isFetching && <Scope tuning={tuning.data} />}
        </div>
        {tuning.error && !tuning.isFetching && (
          <Alert color="red" variant="outline" role="alert">
            {messageOf(tuning.error)}
          </Alert>
        )}
        {tuning.data && tuning.data.calls > 0 && (
          <>
            <Candidates tuning={tuning.data} draft={draft} isDirty={isDirty} />
            <CannotKnow lines={UNKNOWN} />
          </>
        )}
      </Stack>
    </Section>
  );
}

/** How much the figures rest on. */
function Scope({ tuning }: { tuning: Tuning }) {
  const { calls, pauses, judged_share, needed_pauses, recommended } = tuning;
  if (calls === 0)
    return (
      <Text size="sm">
        No call can be judged: this agent has no ended calls with a flight log of this version of Parley.
      </Text>
    );
  return (
    <Text size="sm">
      Computed over {count(calls, 'call')} and {count(pauses, 'pause')}, {percent(judged_share)} of all; in
      the others the agent spoke.
      {recommended === null && ` For a recommendation it takes ${needed_pauses} pauses.`}
    </Text>
  );
}

function Candidates({ tuning, draft, isDirty }: TuningProps & { tuning: Tuning }) {
  const [own] = tuning.settings;
  if (!own) return null;
  return (
    <DataTable
      label="Settings tried"
      heads={['Settings', 'Cut-offs', 'Spared or caused', 'Waiting saved', 'In each turn', 'Draft']}
    >
      {tuning.settings.map((one) => {
        const isRecommended = isSame(one.conversation, tuning.recommended);
        return (
          <Table.Tr key={JSON.stringify(one.conversation)}>
            <Table.Td>
              <Stack gap={4} align="flex-start">
                {isRecommended && <StateBadge state="success" label="Recommended" />}
                {one === own ? 'As each call had them' : <Settings conversation={one.conversation} />}
              </Stack>
            </Table.Td>
            <Table.Td className="tabular">
              {one.cut_offs} ({percent(one.cut_off_share)})
            </Table.Td>
            <Table.Td>{one === own ? '–' : comparison(own.cut_offs - one.cut_offs)}</Table.Td>
            <Table.Td className="tabular">
              {one === own ? '–' : signedTime(one.saved_total_ms, seconds)}
            </Table.Td>
            <Table.Td className="tabular">
              {one === own ? '–' : signedTime(one.saved_ms, milliseconds)}
            </Table.Td>
            <Table.Td>
              {one !== own && <Apply conversation={one.conversation} draft={draft} isDirty={isDirty} />}
            </Table.Td>
          </Table.Tr>
        );
      })}
    </DataTable>
  );
}

function Settings({ conversation }: Pick<Candidate, 'conversation'>) {
  return describeSettings(conversation).map((line) => (
    <Text key={line} size="sm" component="div">
      {line}
    </Text>
  ));
}

/** Puts the settings into the saved draft, once the person has confirmed what changes. */
function Apply({ conversation, draft, isDirty }: TuningProps & Pick<Candidate, 'conversation'>) {
  const path = `/v1/agent/agents/${draft.agent_id}`;
  const apply = useChange(() => call('PATCH', `${path}/config`, { conversation }), {
    touches: [path],
    done: 'The draft has these settings; publish it when it is ready',
  });
  const current = Object.fromEntries(
    Object.keys(conversation).map((name) => [name, draft.conversation[name as keyof typeof conversation]]),
  );
  if (isSame(conversation, current)) return <Text size="sm">In the draft</Text>;
  return (
    <ConfirmButton
      size="xs"
      disabled={isDirty}
      loading={apply.isPending}
      title="Put these settings into the draft?"
      text={
        `Instead of ${describeSettings(current).join('; ')} the draft gets ` +
        `${describeSettings(conversation).join('; ')}. It is saved at once. Callers notice nothing until you ` +
        'publish it.'
      }
      onConfirm={() => apply.mutate()}
    >
      {isDirty ? 'Save the draft first' : 'Apply to draft'}
    </ConfirmButton>
  );
}

function isSame(one: object, other: object | null): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function comparison(spared: number): string {
  if (spared === 0) return 'The same';
  return spared > 0 ? `${spared} spared` : `${-spared} caused`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
