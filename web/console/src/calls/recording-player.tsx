/**
 * Player of a call's recording: the waveform of both speakers, playback and seeking by mouse or keyboard,
 * with interruptions and silences explained.
 */
import { ActionIcon, Group, Select, Stack, Text, VisuallyHidden } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { ApiError, call } from '../api/client.ts';
import { messageOf } from '../api/queries.ts';
import type { Recording, SessionDetail } from '../api/types.ts';
import { Copy } from '../parts/copy.tsx';
import { duration, seconds } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { type AudioEvent, audioEvents, isCutShort } from './audio-events.ts';
import { type DecodedRecording, decodeRecording } from './decode-recording.ts';
import { linkToMoment } from './linked-moment.ts';
import { EVENT_COLORS, Waveform } from './waveform.tsx';

const ASK_AGAIN_MS = 1_000;
const SPEEDS = ['0.75', '1', '1.25', '1.5', '2'];

/** A seek request. */
export interface Seek {
  /** Wall time in ms. */
  readonly atMs: number;
  /** False: only sets the position. */
  readonly plays: boolean;
}

interface PlayerProps {
  readonly session: SessionDetail;
  /** Each new object triggers a seek. */
  readonly seek: Seek | null;
  /**
   * Where other settings would have changed the course of the call, as wall time in ms; null without a
   * replay.
   */
  readonly divergesAtMs: number | null;
  /** Called with the playback position as wall time in ms; null while stopped. */
  onTime(atMs: number | null): void;
}

export function RecordingPlayer(props: PlayerProps) {
  const recording = useDecoded(props.session.session_id);
  if (recording.data) return <Player {...props} recording={recording.data} />;
  const isMissing = recording.error instanceof ApiError && recording.error.status === 404;
  return (
    <Section title="Recording">
      <Text c="dimmed" role="status">
        {recording.data === null
          ? 'The last seconds of the recording are being stored…'
          : recording.isPending
            ? 'Loading the recording…'
            : isMissing
              ? 'This call was not recorded.'
              : recording.error instanceof ApiError
                ? messageOf(recording.error)
                : recording.error?.message}
      </Text>
    </Section>
  );
}

/**
 * Fetched once the recording is complete (null until then). Its URLs expire; the decoded audio stays in
 * memory.
 */
function useDecoded(sessionId: string) {
  const query = useQuery({
    queryKey: ['decoded recording', sessionId],
    queryFn: async ({ signal }) => {
      const recording = await call<Recording>(
        'GET',
        `/v1/agent/sessions/${sessionId}/recording`,
        undefined,
        signal,
      );
      return recording.status === 'processing' ? null : decodeRecording(recording, signal);
    },
    refetchInterval: ({ state }) => (state.data === null ? ASK_AGAIN_MS : false),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const url = query.data?.url;
  useEffect(() => () => (url === undefined ? undefined : URL.revokeObjectURL(url)), [url]);
  return query;
}

function Player({
  session,
  recording,
  seek,
  divergesAtMs,
  onTime,
}: PlayerProps & { recording: DecodedRecording }) {
  const audio = useRef<HTMLAudioElement>(null);
  const [positionMs, setPosition] = useState(0);
  const [isPlaying, setPlaying] = useState(false);
  const noticed = useMemo(() => audioEvents(recording, session.silences), [recording, session.silences]);
  const events = useMemo(
    () => withDivergence(noticed, divergesAtMs, recording),
    [noticed, divergesAtMs, recording],
  );
  const tell = useRef(onTime);
  tell.current = onTime;

  const goTo = (ms: number) => {
    if (!audio.current) return;
    audio.current.currentTime = Math.min(recording.durationMs, Math.max(0, ms)) / 1_000;
    setPosition(audio.current.currentTime * 1_000);
  };
  useEffect(() => {
    if (!seek || !audio.current) return;
    const ms = Math.min(recording.durationMs, Math.max(0, seek.atMs - recording.startMs));
    audio.current.currentTime = ms / 1_000;
    setPosition(ms);
    if (seek.plays) void audio.current.play();
  }, [seek, recording]);
  useEffect(() => {
    tell.current(positionMs > 0 ? recording.startMs + positionMs : null);
  }, [positionMs, recording.startMs]);
  const toggle = () => {
    if (isPlaying) audio.current?.pause();
    else void audio.current?.play();
  };
  return (
    <Section
      title="Recording"
      aside={
        <Group gap="md">
          <Legend color="var(--user)" label="Caller" />
          <Legend color="var(--agent)" label="Agent" />
        </Group>
      }
    >
      <Stack gap="sm">
        {/* biome-ignore lint/a11y/useMediaCaption: the transcript stands below, in step with the sound. */}
        <audio
          ref={audio}
          src={recording.url}
          preload="auto"
          onPlay={() => setPlaying(true)}
          onPause={() => setPlaying(false)}
          onTimeUpdate={(event) => setPosition(event.currentTarget.currentTime * 1_000)}
        />
        <Waveform recording={recording} events={events} positionMs={positionMs} onSeek={goTo} />
        <Group>
          <ActionIcon size="lg" onClick={toggle} aria-label={isPlaying ? 'Pause' : 'Play'}>
            {isPlaying ? <IconPlayerPause size={18} /> : <IconPlayerPlay size={18} />}
          </ActionIcon>
          <Text size="sm" className="tabular">
            {duration(positionMs / 1_000)} / {duration(recording.durationMs / 1_000)}
          </Text>
          <Copy value={linkToMoment(session, recording.startMs + positionMs)} label="a link to this moment" />
          <Select
            aria-label="Speed"
            size="xs"
            w={86}
            allowDeselect={false}
            data={SPEEDS.map((value) => ({ value, label: `${value}×` }))}
            defaultValue="1"
            onChange={(value) => {
              if (audio.current) audio.current.playbackRate = Number(value);
            }}
          />
        </Group>
        <Events
          events={events}
          isDeaf={isDeaf(session)}
          hasCutReply={session.items.some(isCutShort)}
          onSeek={goTo}
        />
      </Stack>
    </Section>
  );
}

/** Adds the replay's divergence to the audio events. */
function withDivergence(
  events: readonly AudioEvent[],
  wallMs: number | null,
  { startMs, durationMs }: DecodedRecording,
): readonly AudioEvent[] {
  if (wallMs === null) return events;
  const atMs = Math.min(durationMs, Math.max(0, wallMs - startMs));
  const text = 'from here the call would have been different';
  return [...events, { kind: 'divergence' as const, atMs, durationMs: 0, text }].sort(
    (a, b) => a.atMs - b.atMs,
  );
}

function Legend({ color, label }: { color: string; label: string }) {
  return (
    <Group gap={6}>
      <span className="swatch" style={{ background: color }} aria-hidden />
      <Text size="sm">{label}</Text>
    </Group>
  );
}

function titleOf({ kind, durationMs }: AudioEvent): string {
  if (kind === 'silence') return `Silence of ${seconds(durationMs)}`;
  return kind === 'interruption' ? 'Interruption' : 'Other settings';
}

/** Whether nothing was heard from the caller: then the quiet of the recording proves nothing. */
function isDeaf({ media_quality: quality }: SessionDetail): boolean {
  return quality?.packets_received === 0;
}

interface EventsProps {
  readonly events: readonly AudioEvent[];
  readonly isDeaf: boolean;
  readonly hasCutReply: boolean;
  readonly onSeek: (ms: number) => void;
}

function Events({ events, isDeaf, hasCutReply, onSeek }: EventsProps) {
  if (events.length === 0 && isDeaf) return null;
  if (events.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {hasCutReply
          ? 'A reply ends in mid-sentence, as the transcript shows; there is no noticeable silence.'
          : 'No interruption, and no noticeable silence.'}
      </Text>
    );
  return (
    <Stack gap={0} component="ul" p={0} m={0} style={{ listStyle: 'none' }} aria-label="Audible events">
      {events.map((event) => (
        <li key={`${event.kind}${event.atMs}`}>
          <button
            type="button"
            className="line"
            style={
              {
                '--speaker': event.kind === 'silence' ? 'var(--line)' : EVENT_COLORS[event.kind],
              } as React.CSSProperties
            }
            onClick={() => onSeek(event.atMs)}
          >
            <Text size="sm" component="span">
              <span className="tabular">{duration(event.atMs / 1_000)}</span>{' '}
              <strong>{titleOf(event)}</strong>: {event.text}
            </Text>
            <VisuallyHidden>, listen from here</VisuallyHidden>
          </button>
        </li>
      ))}
    </Stack>
  );
}
