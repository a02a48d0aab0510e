/** The facts of a call: numbers, times, ids. */
import { SimpleGrid, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { SessionDetail } from '../api/types.ts';
import { Id } from '../parts/copy.tsx';
import { dateTime, duration, words } from '../parts/format.ts';
import { endsOf } from './calls-table.tsx';

export function CallFacts({ session }: { session: SessionDetail }) {
  const { from, to } = endsOf(session);
  const facts: [string, ReactNode][] = [
    [
      'Agent',
      <Link key="agent" className="text-link" href={`/agents/${session.agent_id}`}>
        {session.agent_name}
      </Link>,
    ],
    ['Began', dateTime(session.started_at)],
    ['Length', duration(session.duration_seconds)],
    ['Direction', words(session.direction)],
    ['Came by', words(session.source)],
    ...numberFact('From', from),
    ...numberFact('To', to),
    ...(session.sip_call_id === null
      ? []
      : ([['SIP Call-ID', <Id key="sip" value={session.sip_call_id} label="the Call-ID" isShort />]] as [
          string,
          ReactNode,
        ][])),
    ...Object.entries(session.sip_headers ?? {}).map(([name, value]): [string, ReactNode] => [name, value]),
    ...(session.timezone === null ? [] : ([['Time zone', session.timezone]] as [string, ReactNode][])),
  ];
  return (
    <SimpleGrid className="card" component="dl" cols={{ base: 2, sm: 3, md: 5 }} m={0}>
      {facts.map(([label, value]) => (
        <div key={label}>
          <Text component="dt" size="xs" c="dimmed">
            {label}
          </Text>
          <Text component="dd" size="sm" m={0}>
            {value}
          </Text>
        </div>
      ))}
    </SimpleGrid>
  );
}

function numberFact(label: string, number: string | null): [string, ReactNode][] {
  return number === null ? [] : [[label, <Id key={label} value={number} label="the number" />]];
}
