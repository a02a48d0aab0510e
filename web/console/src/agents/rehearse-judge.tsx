/** The judge of a rehearsal: what it would cost, and what it has found. */
import { Alert, Loader, NumberInput, Progress, Stack, Switch, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import { call } from '../api/client.ts';
import { messageOf, useChange } from '../api/queries.ts';
import type { Rehearsal, RehearsalEstimate } from '../api/types.ts';
import { pathOfMoment } from '../calls/linked-moment.ts';
import { dollars, percent, withInterval, words } from '../parts/format.ts';
import { DataTable } from '../parts/table.tsx';

type Judged = NonNullable<Rehearsal['judged']>;
type Figures = Judged['all'];
type Share = Figures['same_share'];

/** The most that a judge may cost, in dollars; null without one. */
export type MostCost = number | null;

const USUAL_COST = 1;

/** Switches the judge on, and shows what it would cost before anything is spent. */
export function JudgeOptions({
  path,
  cost,
  onChange,
}: {
  path: string;
  cost: MostCost;
  onChange: (cost: MostCost) => void;
}) {
  const estimate = useChange(
    (max: number) =>
      call<RehearsalEstimate>('POST', `${path}/estimate`, { judge: { max_cost: max.toFixed(2) } }),
    { touches: [], quiet: true },
  );
  const toggle = (isOn: boolean) => {
    onChange(isOn ? USUAL_COST : null);
    if (isOn) estimate.mutate(USUAL_COST);
  };
  return (
    <Stack gap="xs">
      <Switch
        label="Judge single turns, too"
        description="Asks the draft’s model again at sampled turns, and a judge compares. This costs."
        checked={cost !== null}
        onChange={(event) => toggle(event.currentTarget.checked)}
      />
      {cost !== null && (
        <>
          <NumberInput
            label="At most, dollars"
            prefix="$"
            min={0.01}
            max={1_000}
            decimalScale={2}
            w={160}
            value={cost}
            onChange={(value) => onChange(Number(value) || USUAL_COST)}
          />
          <div role="status">
            {estimate.isPending && <Loader size="xs" aria-label="Estimating" />}
            {estimate.data && <Estimate estimate={estimate.data} />}
          </div>
          {estimate.error && (
            <Alert color="red" variant="outline" role="alert">
              {messageOf(estimate.error)}
            </Alert>
          )}
        </>
      )}
    </Stack>
  );
}

function Estimate({ estimate }: { estimate: RehearsalEstimate }) {
  const { turns_sampled, turns_found, calls_read, turns_again, cost, model, judge_model } = estimate;
  return (
    <Text size="sm">
      About {dollars(cost)}
      {estimate.is_priced ? '' : ' (a price is not known, so it is counted as high)'}: {turns_sampled} of{' '}
      {turns_found} turns in {calls_read} calls are asked of {model}, {turns_again} of them once more of the
      version that ran the call, and judged by {judge_model}.
    </Text>
  );
}

/** What the judge has found so far. */
export function JudgedTurns({ judged }: { judged: Judged }) {
  const { all, noise, not_judged, turns_judged, turns_sampled, stopped, judge_model } = judged;
  const missing = not_judged.failed + not_judged.gone;
  return (
    <Stack>
      {judged.status === 'running' && (
        <Progress value={(100 * turns_judged) / Math.max(1, turns_sampled)} aria-label="Turns judged" />
      )}
      <Text size="sm">
        {turns_judged} of {turns_sampled} turns judged by {judge_model}, for {dollars(judged.cost)} of{' '}
        {dollars(judged.max_cost)}
        {judged.cost_unknown === '0.00'
          ? ''
          : ` (at most ${dollars(judged.cost_unknown)} more for answers that never came)`}
        .{missing > 0 ? ` ${missing} could not be judged.` : ''}
      </Text>
      {stopped !== null && (
        <Alert color="yellow" variant="outline">
          {stopped === 'max_cost' ? 'The next question could have cost more than was left' : stopped}:{' '}
          {not_judged.not_asked} turns were not asked.
        </Alert>
      )}
      {all.turns > 0 && (
        <DataTable label="Answers of the draft" heads={['The draft’s answer is', 'Turns', 'Share, 95 %']}>
          <Verdict name="The same" turns={all.same} share={all.same_share} />
          <Verdict name="Better" turns={all.better} share={all.better_share} />
          <Verdict name="Worse" turns={all.worse} share={all.worse_share} />
          <Verdict name="Different, neither better" turns={all.different} share={all.different_share} />
        </DataTable>
      )}
      {noise.turns > 0 && (
        <Text size="sm">
          The version of the call, asked twice, differs from itself in {withInterval(noise.share, percent)}.
        </Text>
      )}
      <Groups label="Turns by language" groups={judged.by_language} />
      <Groups label="Turns by number" groups={judged.by_number} />
      <ToRead turns={judged.to_read} />
    </Stack>
  );
}

function Verdict({ name, turns, share }: { name: string; turns: number; share: Share }) {
  return (
    <Table.Tr>
      <Table.Td>{name}</Table.Td>
      <Table.Td className="tabular">{turns}</Table.Td>
      <Table.Td className="tabular">{withInterval(share, percent)}</Table.Td>
    </Table.Tr>
  );
}

function Groups({ label, groups }: { label: string; groups: Judged['by_number'] }) {
  if (groups.length < 2) return null;
  return (
    <DataTable label={label} heads={[label, 'Turns', 'Better', 'Worse']}>
      {groups.map(({ name, turns, better_share, worse_share }) => (
        <Table.Tr key={name}>
          <Table.Td>{name}</Table.Td>
          <Table.Td className="tabular">{turns}</Table.Td>
          <Table.Td className="tabular">{withInterval(better_share, percent)}</Table.Td>
          <Table.Td className="tabular">{withInterval(worse_share, percent)}</Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

function ToRead({ turns }: { turns: Judged['to_read'] }) {
  if (turns.length === 0) return null;
  return (
    <DataTable label="To read" heads={['To read', 'The call’s answer', 'The draft’s answer']}>
      {turns.map((turn) => (
        <Table.Tr key={`${turn.session_id}-${turn.at}`}>
          <Table.Td>
            <Link href={pathOfMoment(turn.session_id, turn.second)}>{words(turn.verdict)}</Link>
            <Text size="xs">{turn.reason}</Text>
          </Table.Td>
          <Table.Td>{answerOf(turn.call_answer)}</Table.Td>
          <Table.Td>{answerOf(turn.draft_answer)}</Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}

function answerOf({ text, calls }: Judged['to_read'][number]['call_answer']): string {
  return [text, ...calls.map((one) => `[${one.tool_name} ${one.arguments}]`)]
    .filter((part) => part !== '')
    .join(' ');
}
