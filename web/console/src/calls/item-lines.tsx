/** Entries of a conversation, spoken or written, as lines. */
import { Text } from '@mantine/core';
import type { CSSProperties } from 'react';
import type { SessionDetail } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { milliseconds, timeOfDay, words } from '../parts/format.ts';

export type Item = SessionDetail['items'][number];
export type SaidItem = Extract<Item, { type: 'message' }>;

const COLLEAGUES = {
  joined: 'listens',
  took_over: 'took the call over',
  handed_back: 'handed the call back',
  left: 'left',
} as const;

/** The colour of a line by its speaker. */
export function speakerStyle(role: SaidItem['role']): CSSProperties {
  return { '--speaker': role === 'assistant' ? 'var(--agent)' : 'var(--user)' } as CSSProperties;
}

interface SaidProps {
  readonly item: Pick<SaidItem, 'role' | 'content' | 'created_at'>;
  /** The word for the person who talks with the agent. */
  readonly person: string;
}

/** A line with what one of them said. */
export function Said(props: SaidProps) {
  return (
    <div className="line" style={speakerStyle(props.item.role)}>
      <SaidContent {...props} />
    </div>
  );
}

/** Speaker, time and words, without the line around them. */
export function SaidContent({ item: { role, content, created_at }, person }: SaidProps) {
  const speaker = { user: person, assistant: 'Agent', human: 'Colleague' }[role];
  return (
    <>
      <Text size="xs" c="dimmed" component="span" display="block">
        {speaker} · <span className="tabular">{timeOfDay(created_at)}</span>
      </Text>
      {content}
    </>
  );
}

/** A line about something that was done: tools, searches, failures of the model, colleagues. */
export function ItemNote({ item }: { item: Exclude<Item, SaidItem> }) {
  if (item.type === 'tool_call') {
    return (
      <div className="note-line">
        {timeOfDay(item.created_at)} · Tool <strong>{item.tool_name}</strong> called with{' '}
        <span className="mono">{item.input}</span>
      </div>
    );
  }
  if (item.type === 'tool_result') {
    return (
      <div className="note-line">
        {timeOfDay(item.created_at)} · <strong>{item.tool_name}</strong>
        {'\u00a0'}
        <StateBadge state={item.status} /> {milliseconds(item.latency_ms)}
        <pre className="block">{item.output ?? item.error}</pre>
      </div>
    );
  }
  if (item.type === 'participant') {
    return (
      <div className="note-line">
        {timeOfDay(item.created_at)} · <strong>{item.name ?? 'A colleague'}</strong> {COLLEAGUES[item.event]}
      </div>
    );
  }
  return (
    <div className="note-line">
      {timeOfDay(item.created_at)} · {words(item.type.replace('.', '_'))}:{' '}
      <span className="mono">{'message' in item ? item.message : ''}</span>
    </div>
  );
}
