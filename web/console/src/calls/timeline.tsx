/**
 * Transcript of a call with its tool calls, linked to the audio: clicking a line plays from there, and the
 * current line is marked.
 */
import { Group, Stack, Text } from '@mantine/core';
import { useEffect, useRef } from 'react';
import type { SessionDetail } from '../api/types.ts';
import { Copy } from '../parts/copy.tsx';
import { timeOfDay } from '../parts/format.ts';
import { ItemNote, Said, SaidContent, type SaidItem, speakerStyle } from './item-lines.tsx';
import { linkToMoment, startOf } from './linked-moment.ts';

interface TimelineProps {
  readonly session: SessionDetail;
  /** Playback position as wall time, ms; null while stopped. */
  readonly nowMs: number | null;
  /** Wall time the address points to, ms; null if it points to the whole call. */
  readonly linkedMs: number | null;
  /** Where a replay with other settings would have diverged, as wall time in ms. */
  readonly divergesAtMs: number | null;
  /** Null without a recording. */
  readonly onSeek: ((atMs: number) => void) | null;
}

export function Timeline({ session, nowMs, linkedMs, divergesAtMs, onSeek }: TimelineProps) {
  const { items } = session;
  const linkedLine = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (linkedMs !== null) linkedLine.current?.scrollIntoView({ block: 'center' });
  }, [linkedMs]);
  if (items.length === 0)
    return <Text c="dimmed">Nothing was said{session.status === 'active' ? ' yet' : ''}.</Text>;
  const lineAt = (ms: number | null) =>
    ms === null ? -1 : items.findLastIndex((item) => startOf(item, session) <= ms);
  const linked = lineAt(linkedMs);
  const current = nowMs === null ? linked : lineAt(nowMs);
  const divergesBefore =
    divergesAtMs === null ? -1 : items.findIndex((item) => startOf(item, session) >= divergesAtMs);
  return (
    <Stack gap={6} component="ol" p={0} m={0} style={{ listStyle: 'none' }} aria-label="Transcript">
      {items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items are only ever added at the end.
        <li key={index} ref={index === linked ? linkedLine : undefined}>
          {index === divergesBefore && <Divergence />}
          {item.type === 'message' ? (
            <Group className="said" gap={4} wrap="nowrap" align="flex-start">
              <Message
                item={item}
                isNow={index === current}
                onSeek={onSeek && (() => onSeek(startOf(item, session)))}
              />
              <span className="said-link">
                <Copy
                  value={linkToMoment(session, startOf(item, session))}
                  label={`a link to ${timeOfDay(item.created_at)}`}
                />
              </span>
            </Group>
          ) : (
            <ItemNote item={item} />
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
  return (
    <div className="note-line divergence">
      With the other settings the call would have been different from here on
    </div>
  );
}

function Message({ item, isNow, onSeek }: { item: SaidItem; isNow: boolean; onSeek: (() => void) | null }) {
  if (!onSeek) return <Said item={item} person="Caller" />;
  return (
    <button
      type="button"
      className="line"
      style={speakerStyle(item.role)}
      data-now={isNow}
      aria-current={isNow ? 'true' : undefined}
      onClick={onSeek}
    >
      <SaidContent item={item} person="Caller" />
    </button>
  );
}
