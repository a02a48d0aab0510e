/** The facts of a call: numbers, times, ids. */
import { Link } from 'wouter';
import type { SessionDetail } from '../api/types.ts';
import { Id } from '../parts/copy.tsx';
import { type Fact, Facts, numberFact } from '../parts/facts.tsx';
import { dateTime, duration, words } from '../parts/format.ts';
import { endsOf } from './calls-table.tsx';

export function CallFacts({ session }: { session: SessionDetail }) {
  const { from, to } = endsOf(session);
  const { sip_call_id: sipCallId, timezone } = session;
  const facts: readonly Fact[] = [
    [
      'Agent',
      <Link key="agent" className="text-link" href={`/agents/${session.agent_id}`}>
        {session.agent_name}
      </Link>,
    ],
    ['Began', dateTime(session.started_at)],
    ['Length', duration(session.duration_seconds)],
    ...(session.hold_seconds === undefined ? [] : [['On hold', duration(session.hold_seconds)] as const]),
    ['Direction', words(session.direction)],
    ['Came by', words(session.source)],
    ...numberFact('From', from),
    ...numberFact('To', to),
    ...(sipCallId === null
      ? []
      : [['SIP Call-ID', <Id key="sip" value={sipCallId} label="the Call-ID" isShort />] as const]),
    ...Object.entries(session.sip_headers ?? {}),
    ...(timezone === null ? [] : [['Time zone', timezone] as const]),
  ];
  return <Facts facts={facts} />;
}
