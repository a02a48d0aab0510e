/**
 * `parley replay` and `parley tune`: replays a call unchanged or with other settings, and evaluates other
 * settings on many calls.
 */
import { turnSettings } from '#protocol/conversation-settings.ts';
import { replaySettings } from '#protocol/replay.ts';
import type { TuningResult } from '#protocol/tuning.ts';
import { ownMachineOf, refuseUnknownSettings } from '#runtime/replay/machines/machine-of.ts';
import { replay } from '#runtime/replay/replay.ts';
import { type Divergence, firstDivergence } from '#runtime/replay/what-if.ts';
import { type ReadFlightLog, readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import type { TurnConfig } from '#runtime/turn/machine/turn-config.ts';
import { findAgentId } from './agent-sync.ts';
import { type Api, CommandError, EXIT } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { printTable, show } from './output.ts';

/**
 * Replays a call and prints its steps, or where the settings (`conversation.name=value`) change it. Throws
 * `CommandError`.
 */
export async function replaySession(
  common: CommandContext,
  sessionId: string,
  settings: readonly string[],
): Promise<void> {
  const parts = await readLog(common.api(), sessionId);
  if (settings.length === 0) printReplay(common, parts);
  else {
    const changes = settingsOf(settings);
    refuseUnknown(parts, settings);
    printDivergence(common, firstDivergenceOf(parts, changes));
  }
}

/** Throws `CommandError` for a setting that the turn machine of the call does not have yet. */
function refuseUnknown(parts: readonly ReadFlightLog[], pairs: readonly string[]): void {
  const names = pairs.map((pair) => pair.replace(/^conversation\./, '').replace(/=.*$/s, ''));
  try {
    for (const part of parts) refuseUnknownSettings(ownMachineOf(part), names);
  } catch (error) {
    throw new CommandError((error as Error).message);
  }
}

/**
 * The parts of a call's log: several if another worker took it over. Throws `CommandError` when the log is
 * damaged, or a machine of its version is not known.
 */
export async function readLog(api: Api, sessionId: string): Promise<readonly ReadFlightLog[]> {
  const response = await api.send('GET', `/v1/agent/sessions/${encodeURIComponent(sessionId)}/flight-log`);
  try {
    const parts = readFlightLog([new Uint8Array(await response.arrayBuffer())]);
    for (const part of parts) ownMachineOf(part);
    return parts;
  } catch (error) {
    throw new CommandError(
      `the flight log of ${sessionId} cannot be replayed: ${error instanceof Error ? error.message : error}`,
      EXIT.failed,
    );
  }
}

/** Parses `conversation.name=value` pairs, checking each value as the API would. Throws `CommandError`. */
export function settingsOf(pairs: readonly string[]): Partial<TurnConfig> {
  return Object.assign({}, ...pairs.map(settingOf));
}

function settingOf(pair: string): Partial<TurnConfig> {
  const [, name = '', text = ''] = /^(?:conversation\.)?([a-z_]+)=(.*)$/.exec(pair) ?? [];
  const names = Object.keys(replaySettings.shape);
  if (!names.includes(name))
    throw new CommandError(`--set takes conversation.<name>=<value>; names: ${names.join(', ')}`);
  const parsed = replaySettings.safeParse({ [name]: parsedValue(text) });
  if (!parsed.success)
    throw new CommandError(`${pair}: ${parsed.error.issues.map(({ message }) => message).join('; ')}`);
  return turnSettings(parsed.data);
}

function parsedValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The first divergence in any part, with that part's times. */
function firstDivergenceOf(parts: readonly ReadFlightLog[], changes: Partial<TurnConfig>): Divergence | null {
  return (
    parts
      .map((part) => firstDivergence(part, changes, ownMachineOf(part)))
      .find((divergence) => divergence !== null) ?? null
  );
}

function printReplay(common: CommandContext, parts: readonly ReadFlightLog[]): void {
  const startedMs = startOf(parts[0]);
  const steps = parts.flatMap((part) => {
    // Each worker has its own monotonic clock; wall-clock time is common.
    const originMs = part.header.started_at_ms - (startOf(part) - startedMs);
    return [...replay(part, ownMachineOf(part))].map((step) => ({
      ...step,
      callMs: step.input.atMs - originMs,
    }));
  });
  show(steps, common, () => {
    for (const { input, effects, callMs } of steps) {
      const { atMs: _, type, ...facts } = input;
      console.log(`${(callMs / 1_000).toFixed(3).padStart(9)}  ${type}  ${JSON.stringify(facts)}`);
      for (const { do: what, ...effect } of effects)
        console.log(`${' '.repeat(13)}→ ${what}  ${JSON.stringify(effect).slice(0, 200)}`);
    }
  });
}

function startOf(part: ReadFlightLog | undefined): number {
  return Date.parse(part?.header.wall_time ?? '');
}

function printDivergence(common: CommandContext, divergence: Divergence | null): void {
  show(divergence, common, () => {
    if (!divergence) {
      console.log('No audible difference.');
      return;
    }
    const { was, wouldBe, judged } = divergence;
    const line = (moment: Divergence['was']) =>
      moment
        ? `${(moment.atMs / 1_000).toFixed(3)} s  ` +
          `${moment.did.do}${'replyId' in moment.did ? ` ${moment.did.replyId}` : ''}`
        : 'nothing more';
    console.log(`As it was        ${line(was)}\nWould have been  ${line(wouldBe)}`);
    console.log(
      `After that no comparison is possible: ${Math.round(judged * 100)} % of the call was the same.`,
    );
  });
}

/**
 * Evaluates other settings on an agent's latest calls, at most `most`, and prints their effects. Throws
 * `CommandError`.
 */
export async function tune(common: CommandContext, agent: string, most: number): Promise<void> {
  const api = common.api();
  const agentId = await findAgentId(api, agent);
  const path = `/v1/agent/agents/${encodeURIComponent(agentId)}/tuning?calls=${most}`;
  const result: TuningResult = await api.get(path);
  if (result.calls === 0)
    throw new CommandError('no call of this agent has a flight log that can be replayed', EXIT.failed);
  show(result, common, () => {
    if (result.pauses >= result.needed_pauses) printTuning(result);
    else
      console.log(
        `With so few calls nothing can be recommended: calls read: ${result.calls}, ` +
          `pauses to judge: ${result.pauses}, needed: ${result.needed_pauses}.`,
      );
  });
}

const BAR_CHARS = 30;

type Tuned = TuningResult['settings'][number]['conversation'];

function printTuning({ calls, judged_share, settings, recommended }: TuningResult): void {
  const most = Math.max(0.01, ...settings.map(({ cut_off_share }) => cut_off_share));
  printTable(
    ['SETTINGS', 'CUT OFF', 'SAVED', 'CUT OFF, COMPARED'],
    settings.map(({ conversation, cut_off_share, saved_ms }) => [
      nameOf(conversation),
      `${(cut_off_share * 100).toFixed(1)} %`,
      `${saved_ms} ms`,
      '█'.repeat(Math.round((cut_off_share / most) * BAR_CHARS)) || ' ',
    ]),
  );
  console.log(
    `\n${calls} calls, ${Math.round(judged_share * 100)} % of their pauses judged: the others ` +
      'were made while the agent spoke.',
  );
  if (recommended) console.log(`Recommended: ${nameOf(recommended)}`);
}

function nameOf({ eagerness, response_wait_ms: waitMs }: Tuned): string {
  return eagerness === undefined ? 'as it was' : `eagerness=${eagerness} response_wait_ms=${waitMs}`;
}
