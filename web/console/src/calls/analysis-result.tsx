/** Analysis of a call: the summary, the extracted data and the criteria met. */
import { Stack, Text } from '@mantine/core';
import type { SessionDetail } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';

type Analysis = NonNullable<SessionDetail['analysis']>;

export function AnalysisResult({ analysis, items }: { analysis: Analysis; items: SessionDetail['items'] }) {
  if (analysis.status === 'skipped')
    return (
      <Stack gap="xs" align="flex-start">
        <StateBadge state="skipped" />
        <Text size="sm">{whySkipped(items)}</Text>
      </Stack>
    );
  if (analysis.status !== 'completed') return <StateBadge state={analysis.status} />;
  return (
    <Stack>
      {analysis.summary !== null && <Text>{analysis.summary}</Text>}
      <dl className="findings">
        {analysis.data.map(({ name, value, rationale }) => (
          <Finding
            key={`data ${name}`}
            name={name}
            value={value === null ? 'Not mentioned' : String(value)}
            why={rationale}
          />
        ))}
        {analysis.criteria_results.map(({ name, result, rationale }) => (
          <Finding
            key={`criterion ${name}`}
            name={name}
            value={<StateBadge state={result} />}
            why={rationale}
          />
        ))}
      </dl>
    </Stack>
  );
}

function whySkipped(items: SessionDetail['items']): string {
  return items.some((item) => item.type === 'message' && item.role === 'user')
    ? 'The agent asks for no summary, data or criteria: set them on its page, under Analysis and webhooks.'
    : 'The caller said nothing, so there was nothing to analyse.';
}

function Finding({ name, value, why }: { name: string; value: React.ReactNode; why: string }) {
  return (
    <>
      <dt className="mono">{name}</dt>
      <dd>
        {value}
        <Text size="sm" c="dimmed">
          {why}
        </Text>
      </dd>
    </>
  );
}
