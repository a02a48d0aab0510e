/** What was worked out after a call: the summary, the data extracted, the criteria met. */
import { Stack, Table, Text } from '@mantine/core';
import type { SessionDetail } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';

type Analysis = NonNullable<SessionDetail['analysis']>;

export function AnalysisResult({ analysis }: { analysis: Analysis }) {
  if (analysis.status !== 'completed') return <StateBadge state={analysis.status} />;
  return (
    <Stack>
      {analysis.summary !== null && <Text>{analysis.summary}</Text>}
      {analysis.data.length > 0 && (
        <Rows label="Data">
          {analysis.data.map(({ name, value, rationale }) => (
            <Row key={name} name={name} value={value === null ? 'Not said' : String(value)} why={rationale} />
          ))}
        </Rows>
      )}
      {analysis.criteria_results.length > 0 && (
        <Rows label="Criteria">
          {analysis.criteria_results.map(({ name, result, rationale }) => (
            <Row key={name} name={name} value={<StateBadge state={result} />} why={rationale} />
          ))}
        </Rows>
      )}
    </Stack>
  );
}

function Rows({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <Table aria-label={label} verticalSpacing="xs">
      <Table.Tbody>{children}</Table.Tbody>
    </Table>
  );
}

function Row({ name, value, why }: { name: string; value: React.ReactNode; why: string }) {
  return (
    <Table.Tr>
      <Table.Td className="mono">{name}</Table.Td>
      <Table.Td>
        {value}
        <Text size="sm" c="dimmed">
          {why}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}
