/** The alerts about the rates of an agent: those that are open, and those that were closed last. */
import { Alert, Badge, Stack, Text } from '@mantine/core';
import { useRead } from '../api/queries.ts';
import type { ScorecardAlerts } from '../api/types.ts';
import { dateTime, percent } from '../parts/format.ts';
import { Problem } from '../parts/states.tsx';
import { labelOf } from './scorecard-rates.ts';

const REFRESH_MS = 30_000;
const SHOWN_CLOSED = 5;

type ShownAlert = ScorecardAlerts['open'][number];

export function ScorecardAlertsSection({ path }: { path: string }) {
  const alerts = useRead<ScorecardAlerts>(`${path}/alerts`, { refetchMs: REFRESH_MS });
  if (alerts.error && !alerts.data)
    return <Problem error={alerts.error} onRetry={() => void alerts.refetch()} />;
  if (!alerts.data) return null;
  const { rules, open, closed } = alerts.data;
  return (
    <Stack gap="xs">
      {open.map((alert) => (
        <Alert key={alert.alert_id} color="red" variant="outline" title={titleOf(alert)} role="alert">
          {madeOf(alert)} Open since {dateTime(alert.opened_at)}.
        </Alert>
      ))}
      {closed.slice(0, SHOWN_CLOSED).map((alert) => (
        <Text key={alert.alert_id} size="sm" c="dimmed">
          {titleOf(alert)} from {dateTime(alert.opened_at)} to {dateTime(alert.closed_at)}
          {alert.close_reason === 'changed' && '; its rule was changed'}.
        </Text>
      ))}
      {rules.length > 0 && open.length === 0 && (
        <Text size="sm">
          {rules.length === 1 ? 'One rate is' : `${rules.length} rates are`} watched and within the band.
        </Text>
      )}
    </Stack>
  );
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
  return `${hits} of ${calls} calls since ${dateTime(since)}, which is ${percent(observed)}.`;
}
