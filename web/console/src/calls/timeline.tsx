/** The transcript of a call with its tools, tied to the sound: a press on a line plays from there, and the line being heard is marked. */
import { Stack, Text } from '@mantine/core';
import type { SessionDetail } from '../api/types.ts';
import { StateBadge } from '../parts/badges.tsx';
import { milliseconds, timeOfDay, words } from '../parts/format.ts';

type Item = SessionDetail['items'][number];

const SPEAKERS = { user: 'Caller', assistant: 'Agent', human: 'Colleague' } as const;
const COLLEAGUES = { joined: 'listens', took_over: 'took the call over', handed_back: 'handed the call back', left: 'left' } as const;

interface TimelineProps {
  readonly session: SessionDetail;
  /** Wall time being heard, ms; null while nothing plays. */
  readonly nowMs: number | null;
  /** Where a replay with other settings would have gone another way, as wall time in ms. */
  readonly divergesAtMs: number | null;
  /** Null where there is nothing to listen to. */
  readonly onSeek: ((atMs: number) => void) | null;
}

export function Timeline({ session, nowMs, divergesAtMs, onSeek }: TimelineProps) {
  const { items } = session;
  if (items.length === 0) return <Text c="dimmed">Nothing was said{session.status === 'active' ? ' yet' : ''}.</Text>;
  const current = nowMs === null ? -1 : items.findLastIndex((item) => startOf(item, session) <= nowMs);
  const divergesBefore = divergesAtMs === null ? -1 : items.findIndex((item) => startOf(item, session) >= divergesAtMs);
  return (
    <Stack gap={6} component="ol" p={0} m={0} style={{ listStyle: 'none' }} aria-label="Transcript">
      {items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items are only ever added at the end.
        <li key={index}>
          {index === divergesBefore && <Divergence />}
          {item.type === 'message' ? (
            <Message item={item} isNow={index === current} onSeek={onSeek && (() => onSeek(startOf(item, session)))} />
          ) : (
            <Note item={item} />
          )}
        </li>
      ))}
      {divergesAtMs !== null && divergesBefore < 0 && (
        <li>
          <Divergence />
        </li>
      )}
    </Stack>
  );
}

function Divergence() {
  return <div className="note-line divergence">With the other settings the call would have gone another way from here</div>;
}

/** When an item began to be heard: what a caller said ended when its turn's speech ended. */
function startOf(item: Item, session: SessionDetail): number {
  const at = Date.parse(item.created_at);
  if (item.type !== 'message' || item.role !== 'user') return at;
  const turn = session.turns.find(({ turn_id }) => turn_id === item.turn_id);
  // Two and a half words a second is how people speak.
  return (turn ? Date.parse(turn.speech_ended_at) : at) - (item.content.split(/\s+/).length / 2.5) * 1_000;
}

function Message({ item, isNow, onSeek }: { item: Extract<Item, { type: 'message' }>; isNow: boolean; onSeek: (() => void) | null }) {
  const style = { '--speaker': item.role === 'assistant' ? 'var(--agent)' : 'var(--user)' } as React.CSSProperties;
  const content = (
    <>
      <Text size="xs" c="dimmed" component="span" display="block">
        {SPEAKERS[item.role]} · <span className="tabular">{timeOfDay(item.created_at)}</span>
      </Text>
      {item.content}
    </>
  );
  if (!onSeek) {
    return (
      <div className="line" style={style}>
        {content}
      </div>
    );
  }
  return (
    <button type="button" className="line" style={style} data-now={isNow} aria-current={isNow ? 'true' : undefined} onClick={onSeek}>
      {content}
    </button>
  );
}

function Note({ item }: { item: Exclude<Item, { type: 'message' }> }) {
  if (item.type === 'tool_call') {
    return (
      <div className="note-line">
        {timeOfDay(item.created_at)} · Tool <strong>{item.tool_name}</strong> called with <span className="mono">{item.input}</span>
      </div>
    );
  }
  if (item.type === 'tool_result') {
    return (
      <div className="note-line">
        {timeOfDay(item.created_at)} · <strong>{item.tool_name}</strong> <StateBadge state={item.status} /> {milliseconds(item.latency_ms)}
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
      {timeOfDay(item.created_at)} · {words(item.type.replace('.', '_'))}: <span className="mono">{'message' in item ? item.message : ''}</span>
    </div>
  );
}
