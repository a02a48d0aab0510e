/**
 * The page of an exported call: verifies the file that it is in, and plays the call with the state of its
 * turn machine at every moment. It connects to nothing.
 */
import { type ReadCallFile, readCallFile } from '../../protocol/call-file.ts';
import type { DecodedRecording } from '../console/src/calls/decode-recording.ts';
import { dateTime, duration, words } from '../console/src/parts/format.ts';
import { element } from '../widget/dom.ts';
import { decodeAudio } from './decode-audio.ts';
import { describeMoment } from './describe-state.ts';
import { facts, section } from './dom.ts';
import { type MachineRun, momentAt, runMachine } from './machine-run.ts';
import { type PlayerMarks, player } from './player.ts';
import { Playhead } from './playhead.ts';
import { type ShownCall, shownCall } from './read-call.ts';
import { rerun } from './rerun.ts';
import { seal } from './seal.ts';
import { redacted, transcript } from './transcript.ts';
import { waterfall } from './waterfall.ts';

/** The run of the turn machine, or why there is none. */
type RunOrReason = MachineRun | string;

void open();

async function open(): Promise<void> {
  const page = document.getElementById('page');
  if (!page) return;
  const [parts, line] = [dataIn('call-parts'), dataIn('call-seal').trimEnd()];
  const file = await readCallFile({ parts, seal: line, shell: null });
  const call = shownCall(file);
  const [recording, run] = await Promise.all([decodeAudio(call.audio), runOf(call)]);
  page.replaceChildren(...cards(file, call, recording, run));
  if (typeof run !== 'string') document.documentElement.dataset['effects'] = run.digest;
  document.documentElement.dataset['ready'] = 'true';
}

/** The text of a data block, without the line break after its tag. */
function dataIn(id: string): string {
  return document.getElementById(id)?.textContent.slice(1) ?? '';
}

async function runOf({ flightLog, redacted: left }: ShownCall): Promise<RunOrReason> {
  if (flightLog === null)
    return left.includes('flight log')
      ? 'The flight log is redacted: the machine cannot be run.'
      : 'There is no whole flight log: the machine cannot be run.';
  try {
    return await runMachine(flightLog);
  } catch (error) {
    return `The machine cannot be run: ${(error as Error).message}.`;
  }
}

function cards(
  file: ReadCallFile,
  call: ShownCall,
  recording: DecodedRecording | null,
  run: RunOrReason,
): HTMLElement[] {
  const playhead = new Playhead(recording, ...spanOf(call, recording, run));
  const marks: PlayerMarks = { divergesAtMs: null };
  const sound = player(playhead, recording, marks);
  const lines = transcript(call, playhead);
  const state = machineState(playhead, run);
  const draw = () => {
    for (const part of [sound, lines, state]) part.draw();
  };
  playhead.onChange(draw);
  requestAnimationFrame(draw);
  const again =
    typeof run === 'string'
      ? section('With other settings', redacted(run))
      : rerun(
          run,
          (difference) => {
            marks.divergesAtMs = difference?.atMs ?? null;
            draw();
          },
          (atMs) => playhead.goTo(atMs),
        );
  return [
    element('h1', {}, `Call with ${call.facts?.agent_name ?? 'an agent'}`),
    seal(file, call.redacted),
    factsOf(call),
    sound.node,
    element('div', { class: 'columns' }, state.node, again),
    lines.node,
    waterfall(call.turns, playhead),
  ];
}

function factsOf({ facts: known, numbers }: ShownCall): HTMLElement {
  return section(
    'Call',
    facts({
      Started: dateTime(known?.started_at ?? null),
      Duration: duration(known?.duration_seconds ?? null),
      Ended: words(known?.end_reason ?? ''),
      Direction: words(known?.direction ?? ''),
      'Number of the other party': numbers ? (numbers.caller_number ?? 'none') : 'redacted',
      'Number on this side': numbers ? (numbers.dialed_number ?? 'none') : 'redacted',
    }),
  );
}

function machineState(playhead: Playhead, run: RunOrReason): { readonly node: HTMLElement; draw(): void } {
  if (typeof run === 'string')
    return { node: section('State of the turn machine', redacted(run)), draw: () => undefined };
  const body = element('div', { id: 'state' });
  return {
    node: section('State of the turn machine', body),
    draw: () => {
      const moment = momentAt(run.moments, playhead.atMs);
      body.replaceChildren(moment ? facts(describeMoment(moment, playhead.atMs)) : 'The call has not begun.');
    },
  };
}

/** Start and end of all that is known, wall time in ms. */
function spanOf(call: ShownCall, recording: DecodedRecording | null, run: RunOrReason): [number, number] {
  const moments = typeof run === 'string' ? [] : run.moments;
  const known = [
    Date.parse(call.facts?.started_at ?? ''),
    Date.parse(call.facts?.ended_at ?? ''),
    ...(recording ? [recording.startMs, recording.startMs + recording.durationMs] : []),
    ...[moments[0], moments.at(-1)].flatMap((moment) => (moment ? [moment.atMs] : [])),
  ].filter(Number.isFinite);
  if (known.length === 0) return [0, 1];
  const startMs = Math.min(...known);
  return [startMs, Math.max(startMs + 1, ...known)];
}
