/** `parley share`: a share of an agent's calls for another version, and how it compares (docs/shares.md). */
import { type Command, InvalidArgumentError } from 'commander';
import { findAgentId } from './agent-sync.ts';
import { type Api, CommandError, type Json } from './api.ts';
import { countUpTo } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printTable, show } from './output.ts';

interface ShareOptions {
  /** Not `--version`, which is that of the program. */
  readonly candidate?: number;
  readonly draft?: boolean;
  readonly percent?: number;
  readonly stop?: boolean;
  readonly promote?: boolean;
}

/** Adds the command. */
export function addShareCommand(program: Command, common: CommandContext): void {
  program
    .command('share <agent>')
    .description('give a share of the calls to another version; without options: compare the two')
    .option('--percent <percent>', 'share of callers, more than 0 and less than 100', percentOf)
    .option(
      '--candidate <version>',
      'the version; default: that of the running share, or the draft',
      countUpTo(1_000_000),
    )
    .option('--draft', 'the draft, although a share is running')
    .option('--stop', 'stop the share: new calls get the published version')
    .option('--promote', 'publish the version of the share for all calls')
    .action(async (idOrName: string, options: ShareOptions) => {
      const api = common.api();
      const path = `/v1/agent/agents/${await findAgentId(api, idOrName)}/share`;
      refuseContradiction(options);
      if (options.promote) {
        const version = await api.post(`${path}/promote`);
        show(version, common, () => console.log(`Published version ${version.version_number}`));
        return;
      }
      if (options.stop) await api.send('DELETE', path);
      const record =
        options.percent === undefined
          ? await api.get(path)
          : await api.put(path, await wanted(api, path, { ...options, percent: options.percent }));
      show(record, common, () => printShare(record));
    });
}

function percentOf(text: string): number {
  const percent = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && percent > 0 && percent < 100) return percent;
  throw new InvalidArgumentError('It must be a number above 0 and below 100.');
}

function refuseContradiction({ percent, candidate, draft, stop, promote }: ShareOptions): void {
  if ([percent !== undefined, stop, promote].filter(Boolean).length > 1)
    throw new CommandError('Choose one of --percent, --stop and --promote');
  if ((candidate !== undefined || draft) && percent === undefined)
    throw new CommandError('--candidate and --draft need --percent');
  if (candidate !== undefined && draft) throw new CommandError('Choose one of --candidate and --draft');
}

/** A running share keeps its version and its rules, unless another version is asked for. */
async function wanted(
  api: Api,
  path: string,
  { candidate, draft, percent }: ShareOptions & { readonly percent: number },
): Promise<object> {
  const share = percent / 100;
  if (draft) return { share };
  if (candidate !== undefined) return { share, version: candidate };
  const last = await api.getUnless('share_not_set', path);
  if (last?.status !== 'running') return { share };
  const { version, watch, slow_ms, at_least_calls } = last;
  return { share, version, watch, slow_ms, at_least_calls };
}

function printShare(record: Json): void {
  const { arms } = record;
  const state = record.status === 'running' ? 'running' : `ended: ${record.end_reason}`;
  console.log(
    `${Number((record.share * 100).toFixed(3))} % of callers get version ${record.version} (${state})`,
  );
  console.log(record.summary);
  console.log('');
  printTable(
    [
      '',
      `VERSION ${arms.share.version_number}`,
      `VERSION ${arms.published.version_number}`,
      'DIFFERENCE',
      'REAL',
    ],
    [
      ['calls', arms.share.calls, arms.published.calls, '', ''],
      [
        'wait, median',
        milliseconds(arms.share.latency.p50_ms),
        milliseconds(arms.published.latency.p50_ms),
        '',
        '',
      ],
      [
        'wait, p95',
        milliseconds(arms.share.latency.p95_ms),
        milliseconds(arms.published.latency.p95_ms),
        '',
        '',
      ],
      ...record.differences.map((one: Json, index: number) => [
        one.measure,
        rateOf(arms.share.rates[index]),
        rateOf(arms.published.rates[index]),
        `${points(one.low)} to ${points(one.high)}`,
        one.verdict === 'open' ? 'not yet' : one.verdict,
      ]),
    ],
  );
}

function milliseconds(value: number | null): string | null {
  return value === null ? null : `${value} ms`;
}

function rateOf({ rate, hits, calls }: Json): string | null {
  return rate === null ? null : `${(rate * 100).toFixed(1)} % (${hits} of ${calls})`;
}

function points(share: number): string {
  return (share * 100).toFixed(1);
}
