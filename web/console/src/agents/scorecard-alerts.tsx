/** The alerts about the rates of an agent, open and closed, each with its calls, and what is watched. */
import { Alert, Badge, Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useRead } from '../api/queries.ts';
import type { ScorecardAlerts } from '../api/types.ts';
import { dateTime, percent } from '../parts/format.ts';
import { Problem } from '../parts/states.tsx';
import { labelOf } from './scorecard-rates.ts';
import { ScoredCallsList } from './scored-calls.tsx';

const REFRESH_MS = 30_000;
const SHOWN_CLOSED = 5;

type ShownAlert = ScorecardAlerts['open'][number];
type Rule = ScorecardAlerts['rules'][number];

export function ScorecardAlertsSection({ path }: { path: string }) {
  const [isAll, setAll] = useState(false);
  const alerts = useRead<ScorecardAlerts>(`${path}/alerts`, { refetchMs: REFRESH_MS });
  if (alerts.error && !alerts.data)
    return <Problem error={alerts.error} onRetry={() => void alerts.refetch()} />;
  if (!alerts.data) return null;
  const { rules, open, closed } = alerts.data;
  const shown = isAll ? closed : closed.slice(0, SHOWN_CLOSED);
  return (
    <Stack gap="xs">
      {open.map((alert) => (
        <Alert key={alert.alert_id} color="red" variant="outline" title={titleOf(alert)} role="alert">
          <Stack gap="xs" align="flex-start">
            <Text size="sm">
              {madeOf(alert)} Open since {dateTime(alert.opened_at)}.
            </Text>
            <CallsOfAlert path={path} alert={alert} />
          </Stack>
        </Alert>
      ))}
      {rules.length > 0 && <Watched rules={rules} open={open} />}
      {shown.map((alert) => (
        <Stack key={alert.alert_id} gap={4} align="flex-start">
          <Text size="sm" c="dimmed">
            {titleOf(alert)} from {dateTime(alert.opened_at)} to {dateTime(alert.closed_at)}
            {alert.close_reason === 'changed' && '; its rule was changed'}. {madeOf(alert)}
          </Text>
          <CallsOfAlert path={path} alert={alert} />
        </Stack>
      ))}
      {shown.length < closed.length && (
        <Button
          variant="subtle"
          size="compact-sm"
          style={{ alignSelf: 'flex-start' }}
          onClick={() => setAll(true)}
        >
          {`Show all ${closed.length} closed alerts`}
        </Button>
      )}
    </Stack>
  );
}

/** The calls that count for the rate, from the first that spoke for a change until the alert was closed. */
function CallsOfAlert({ path, alert }: { path: string; alert: ShownAlert }) {
  const [isShown, setShown] = useState(false);
  const { rate, since, closed_at } = alert;
  const label = isShown ? 'Hide its calls' : 'Its calls';
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        aria-expanded={isShown}
        aria-label={`${label}: ${titleOf(alert)}`}
        onClick={() => setShown(!isShown)}
      >
        {label}
      </Button>
      {isShown && (
        // Within an alert, a screen reader would read out every call at once.
        <div aria-live="off" style={{ alignSelf: 'stretch' }}>
          <ScoredCallsList path={path} rate={rate} from={since} to={closed_at} />
        </div>
      )}
    </>
  );
}

/** Each rule of the published version, and whether its rate is in its band. */
function Watched({ rules, open }: { rules: readonly Rule[]; open: readonly ShownAlert[] }) {
  return (
    <ul style={{ margin: 0, paddingInlineStart: 20 }} aria-label="Watched rates">
      {rules.map((rule) => (
        <li key={rule.rate}>
          <Text size="sm" span>
            {labelOf(rule.rate)}: {bandOf(rule)}
            {isWatched(rule) &&
              (open.some(({ rate }) => rate === rule.rate) ? '; out of it now.' : '; within it.')}
          </Text>
        </li>
      ))}
    </ul>
  );
}

function isWatched({ above, below }: Rule): boolean {
  return above !== null || below !== null;
}

function bandOf(rule: Rule): string {
  const { above, below, learned } = rule;
  const band = [
    ...(below === null ? [] : [`from ${percent(below)}`]),
    ...(above === null ? [] : [`up to ${percent(above)}`]),
  ].join(' ');
  if (!learned) return band;
  const isLearned = learned.sides.some((side) => rule[side] !== null);
  if (isLearned) return `${band}, learned from ${learned.hits} of ${learned.calls} calls`;
  return isWatched(rule) ? `${band}; ${missingOf(learned)}` : `${missingOf(learned)}.`;
}

/** Why no limit is learned. */
function missingOf({ calls, needed_calls, looked_at }: NonNullable<Rule['learned']>): string {
  if (looked_at === null) return 'its calls are looked at with the next one that is counted';
  return calls < needed_calls
    ? `its limit is learned once ${needed_calls} calls of 28 days show it; ${calls} do`
    : 'its calls leave no room for a limit';
}

/** How many alerts of an agent are open; nothing without one. */
export function OpenAlerts({ agentId }: { agentId: string }) {
  const alerts = useRead<ScorecardAlerts>(`/v1/agent/agents/${agentId}/scorecard/alerts`, {
    refetchMs: REFRESH_MS,
  });
  const count = alerts.data?.open.length ?? 0;
  if (count === 0) return null;
  return (
    <Badge color="red" variant="outline" size="sm" aria-label={count === 1 ? '1 alert' : `${count} alerts`}>
      {count}
    </Badge>
  );
}

function titleOf({ rate, side, limit }: ShownAlert): string {
  return `${labelOf(rate)}: ${side} ${percent(limit)}`;
}

function madeOf({ hits, calls, observed, since }: ShownAlert): string {
  return `It opened on ${hits} of ${calls} calls since ${dateTime(since)}, which is ${percent(observed)}.`;
}
