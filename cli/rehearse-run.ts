/** Starts a rehearsal, follows it, and prints what it found. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { GroupFigures, RehearsalRecord } from '#protocol/rehearsal.ts';
import { findAgentId } from './agent-sync.ts';
import { type Api, CommandError, EXIT } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { estimateText, printTable, shareText, show, showProgress } from './output.ts';
import { confirmJudge, type JudgeOptions, judgeProgress, printJudged } from './rehearse-judge.ts';

const POLL_MS = 1_000;

/** Rehearses an agent's draft and prints the result. Throws `CommandError`, also if the rehearsal fails. */
export async function rehearse(
  common: CommandContext,
  agent: string,
  {
    isConfirmed,
    ...wanted
  }: {
    readonly calls?: number;
    readonly days: number;
    readonly judge?: JudgeOptions;
    /** The cost of a judge is agreed to. */
    readonly isConfirmed?: boolean;
  },
): Promise<void> {
  const api = common.api();
  const agentId = await findAgentId(api, agent);
  const path = `/v1/agent/agents/${encodeURIComponent(agentId)}/rehearsals`;
  if (wanted.judge) await confirmJudge(common, { api, path, isConfirmed: isConfirmed === true }, wanted);
  const record = await untilEnded(api, path, await api.post(path, wanted));
  if (record.status === 'failed') throw new CommandError(record.error ?? 'the rehearsal failed', EXIT.failed);
  show(record, common, () => printRehearsal(record, common.url));
}

async function untilEnded(api: Api, path: string, started: RehearsalRecord): Promise<RehearsalRecord> {
  let record = started;
  while (record.status === 'running') {
    const { judged } = record;
    showProgress(
      judged?.status === 'running'
        ? judgeProgress(judged)
        : `${record.calls_looked_at} of about ${record.calls_wanted} calls`,
    );
    await sleep(POLL_MS);
    record = await api.get(`${path}/${record.rehearsal_id}`);
  }
  showProgress('');
  return record;
}

function printRehearsal(record: RehearsalRecord, url: string): void {
  const { all, by_hour, by_language, by_number, to_listen } = record.result;
  printScope(record);
  if (record.judged) printJudged(record.judged, url);
  if (all.calls === 0) return;
  console.log('');
  printTable(['FIGURE', 'VALUE', '95 % INTERVAL', ''], figuresOf(all));
  for (const [title, groups] of [
    [`HOUR (${record.timezone})`, by_hour],
    ['LANGUAGE', by_language],
    ['NUMBER', by_number],
  ] as const) {
    if (groups.length < 2) continue;
    console.log('');
    printTable(
      [title, 'CALLS', 'DIFFER', 'NEW CUT-OFFS', 'SPARED', 'SAVED IN A TURN'],
      groups.map(({ name, calls, differing_share, cut_offs, waiting }) => [
        name,
        calls,
        shareText(differing_share),
        shareText(cut_offs.caused_share),
        shareText(cut_offs.spared_share),
        milliseconds(waiting.saved_ms_per_turn),
      ]),
    );
  }
  if (to_listen.length > 0) {
    console.log('\nTo listen to, at the moment where they part:');
    printTable(
      ['WHY', 'AT', 'CALL'],
      to_listen.map(({ why, second, session_id }) => [
        why.replaceAll('_', ' '),
        second === null ? null : `${second.toFixed(1)} s`,
        `${url}/console/calls/${session_id}${second === null ? '' : `?t=${second.toFixed(1)}`}`,
      ]),
    );
  }
  console.log(
    '\nNothing is known beyond the first difference of a call but its pauses, each judged alone: what ' +
      'callers and models would have said there belongs to another call.',
  );
}

/** Prints which calls the figures come from, and which were left out. */
function printScope(record: RehearsalRecord): void {
  const { calls_found, calls_looked_at, calls_of_earlier_versions, left_out, not_judged, result } = record;
  const { no_log, other_version, unreadable } = left_out;
  console.log(`${result.all.calls} calls rehearsed, of ${calls_found} since ${record.since}`);
  if (calls_looked_at < calls_found) console.log(`A sample: ${calls_looked_at} calls were drawn.`);
  if (no_log > 0) console.log(`Without a whole flight log: ${no_log}`);
  if (other_version > 0) console.log(`Recorded by another version of the turn machine: ${other_version}`);
  if (unreadable > 0) console.log(`Could not be read: ${unreadable}`);
  if (calls_of_earlier_versions > 0)
    console.log(`Ran a version of the agent that is not the published one: ${calls_of_earlier_versions}`);
  if (not_judged.length > 0)
    console.log(
      `Not judged${record.judged ? ' but by turns, below' : ''}, although the draft changes it: ` +
        not_judged.join(', '),
    );
}

function figuresOf(all: GroupFigures): (readonly unknown[])[] {
  const { cut_offs, differing, differing_share, waiting } = all;
  const action = (name: 'hold_lines' | 'interruptions' | 'keys' | 'transfers', title: string) => {
    const { was, would_be, change } = all[name];
    return [`${title}, up to there`, `${was} → ${would_be}`, estimateText(change, 3), 'more in a call'];
  };
  return [
    ['calls that would differ', differing, shareText(differing_share), ''],
    ...Object.entries(all.first_differences)
      .filter(([, calls]) => calls > 0)
      .map(([kind, calls]) => [`  first: ${kind.replaceAll('_', ' ')}`, calls, null, '']),
    ['callers newly cut off', cut_offs.caused, shareText(cut_offs.caused_share), 'of judged pauses'],
    ['callers spared', cut_offs.spared, shareText(cut_offs.spared_share), 'of judged pauses'],
    ['perhaps cut off, unknown', cut_offs.unknown, null, 'under a slower draft'],
    [
      'waiting saved',
      `${(waiting.saved_total_ms / 1_000).toFixed(1)} s`,
      milliseconds(waiting.saved_ms_per_turn),
      'in a turn',
    ],
    action('hold_lines', 'hold lines'),
    action('interruptions', 'interruptions'),
    action('keys', 'keys'),
    action('transfers', 'transfers'),
  ];
}

function milliseconds(estimate: GroupFigures['differing_share']): string {
  return estimateText(estimate, 0, ' ms');
}
