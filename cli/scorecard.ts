/**
 * `parley scorecard`: what was found in the ended calls of an agent, by version, and its alerts
 * (docs/scorecard.md).
 */
import type { Command } from 'commander';
import { findAgentId } from './agent-sync.ts';
import { CommandError, type Json } from './api.ts';
import { countUpTo } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printTable, show } from './output.ts';

const DAY_MS = 86_400_000;
const MAX_DAYS = 93;
const MOST_CALLS = 100;

interface ScorecardOptions {
  readonly days: number;
  readonly tag?: string;
  readonly criterion?: string;
  /** Not `--version`, which is that of the program. */
  readonly of?: number;
}

/** Adds the command. */
export function addScorecardCommand(program: Command, common: CommandContext): void {
  program
    .command('scorecard <agent>')
    .description('what was found in the ended calls of an agent, by version, and alerts about its rates')
    .option('--days <days>', 'calls of the last days', countUpTo(MAX_DAYS), 7)
    .option('--tag <tag>', 'list the newest calls with this tag, such as dead_air')
    .option('--criterion <name>', 'list the newest calls in which this criterion failed')
    .option('--of <version>', 'only calls with this version', countUpTo(1_000_000))
    .action(async (idOrName: string, options: ScorecardOptions) => {
      if (options.tag !== undefined && options.criterion !== undefined)
        throw new CommandError('Choose one of --tag and --criterion');
      const api = common.api();
      const path = `/v1/agent/agents/${await findAgentId(api, idOrName)}/scorecard`;
      const from = new Date(Date.now() - options.days * DAY_MS).toISOString();
      if (options.tag !== undefined || options.criterion !== undefined) {
        const found = await api.get(`${path}/calls?${callsQuery(options, from)}`);
        show(found, common, () => printCalls(found.calls));
        return;
      }
      const [scorecard, alerts] = await Promise.all([
        api.get(`${path}?${new URLSearchParams({ from })}`),
        api.get(`${path}/alerts`),
      ]);
      show({ ...scorecard, alerts }, common, () => printScorecard(scorecard.totals, alerts, options));
    });
}

function callsQuery({ tag, criterion, of: version }: ScorecardOptions, from: string): URLSearchParams {
  return new URLSearchParams({
    ...{ from, page_size: String(MOST_CALLS) },
    ...(tag === undefined ? {} : { tag }),
    ...(criterion === undefined ? {} : { criterion }),
    ...(version === undefined ? {} : { version: String(version) }),
  });
}

function printCalls(calls: readonly Json[]): void {
  printTable(
    ['SESSION', 'BEGAN', 'VERSION', 'SECONDS', 'TAGS'],
    calls.map((call) => [
      call.session_id,
      call.created_at,
      call.version_number,
      call.duration_seconds,
      call.tags.join(', '),
    ]),
  );
}

function printScorecard(totals: Json, alerts: Json, { of }: ScorecardOptions): void {
  for (const alert of alerts.open)
    console.log(
      `Alert since ${alert.opened_at}: ${alert.rate} is ${alert.side} ${percent(alert.limit)} ` +
        `(${alert.hits} of ${alert.calls} calls)`,
    );
  const versions = totals.versions.filter((one: Json) => of === undefined || one.version_number === of);
  const columns: Json[] = of === undefined ? [totals, ...versions] : versions;
  const criteria: string[] = totals.criteria.map((one: Json) => one.name);
  printTable(
    [
      'RATE',
      ...(of === undefined ? ['ALL'] : []),
      ...versions.map((one: Json) => `VERSION ${one.version_number}`),
    ],
    [
      ['calls', ...columns.map(({ calls }) => calls)],
      ...totals.tags.map(({ tag }: Json, index: number) => [
        tag,
        ...columns.map(({ tags }) => rateText(tags[index])),
      ]),
      ...criteria.map((name) => [
        `${name} failed`,
        ...columns.map((sums) => rateText(sums.criteria.find((one: Json) => one.name === name))),
      ]),
    ],
  );
}

function rateText(of: Json): string | null {
  if (!of || of.rate === null) return null;
  return `${percent(of.rate)} (${percent(of.low)} to ${percent(of.high)})`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
