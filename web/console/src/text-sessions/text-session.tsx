/** How a text session is named in the console: the person, the state and the end. */
import type { TextSessionList } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';

type Row = TextSessionList['text_sessions'][number];

/** Address of the sessions in the API. */
export const TEXT_SESSIONS = '/v1/agent/text-sessions';

/** The address of one; its id may come from the address of the page, where it can be any text. */
export function textSessionPath(id: string): string {
  return `${TEXT_SESSIONS}/${encodeURIComponent(id)}`;
}

/** Metadata of a session that was begun on an agent's page, where it can go on. */
export const FROM_CONSOLE = { begun_in: 'console' } as const;

const ENDS = {
  client: 'The client',
  agent: 'The agent',
  idle: 'Time without a message',
  message_limit: 'Limit of messages',
} as const;

/** The person who writes, as far as known. */
export function personOf(row: Pick<Row, 'caller_number' | 'end_user_id' | 'metadata'>): string {
  return row.caller_number ?? row.end_user_id ?? (isFromConsole(row) ? 'Trial' : 'Visitor');
}

/** True for a session that was begun on an agent's page. */
export function isFromConsole({ metadata }: Pick<Row, 'metadata'>): boolean {
  return metadata['begun_in'] === FROM_CONSOLE.begun_in;
}

/** The cause of its end. */
export function endOf({ end_reason }: Pick<Row, 'end_reason'>): string {
  return end_reason === null ? '–' : ENDS[end_reason];
}

export function TextStatus({ status }: Pick<Row, 'status'>) {
  return (
    <StateBadge
      state={status === 'active' ? 'active' : 'completed'}
      label={status === 'active' ? 'Running' : 'Ended'}
    />
  );
}
