/**
 * `parley sessions`, `parley call` and `parley logs`: ended calls, a new call, and all calls as they happen.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { explainUnheard } from '#protocol/explain-unheard.ts';
import { findAgentId } from './agent-sync.ts';
import { type Api, CommandError, EXIT, type Json } from './api.ts';
import { countUpTo } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printable, printFacts, printTable, show } from './output.ts';
import { type Item, itemLine, waterfall } from './timeline.ts';

const POLL_MS = 1_000;
const MAX_LISTED = 10_000;
const ALL_STATUSES = 'pending,active,unknown,completed,failed';

/** Adds the commands. */
export function addSessionCommands(program: Command, common: CommandContext): void {
  const sessions = program.command('sessions').description('calls and web conversations');
  sessions
    .command('list')
    .description('list them, newest first')
    .option('--agent <agent>', 'only sessions of this agent, by id or name')
    .option('--status <statuses>', `of ${ALL_STATUSES}`)
    .option('--end-reason <reasons>')
    .option('--direction <direction>', 'inbound or outbound')
    .option('--caller <number>')
    .option('--after <time>', 'created after this time, such as 2026-11-21T00:00:00Z')
    .option('--before <time>', 'created before this time')
    .option('--limit <count>', 'maximum number of sessions', countUpTo(MAX_LISTED), 20)
    .action(async (options: ListOptions) => listSessions(common, options));
  sessions
    .command('show <session>')
    .description('show the transcript as heard, and the latency of each turn')
    .action(async (id: string) => {
      const session = await common.api().get(`/v1/agent/sessions/${encodeURIComponent(id)}`);
      show(session, common, () => printSession(session));
    });
  sessions
    .command('end <session>')
    .description('end a live session')
    .action(async (id: string) => {
      await common.api().post(`/v1/agent/sessions/${encodeURIComponent(id)}/end`);
      show({ session_id: id }, common, () => console.log(`Asked session ${id} to end`));
    });

  program
    .command('call <number>')
    .description(
      'call a number, follow the call to its end and print what was said; Ctrl-C hangs up; exit ' +
        `${EXIT.failed} if the call is not answered`,
    )
    .option('--agent <agent>', 'agent of the call, by id or name; default: the agent of --from')
    .option('--from <number>', 'number to call from; default: one that can place calls')
    .option('--extension <keys>', 'keys pressed after the answer, such as ,,204# (a comma: two seconds)')
    .action(async (number: string, options: CallOptions) => placeCall(common, number, options));

  program
    .command('logs')
    .description('show live sessions and their transcripts')
    .option('-f, --follow', 'follow until Ctrl-C')
    .action(async (options: { follow?: boolean }) => followAll(common, options.follow === true));
}

interface CallOptions {
  readonly agent?: string;
  readonly from?: string;
  readonly extension?: string;
}

interface ListOptions {
  readonly agent?: string;
  readonly status?: string;
  readonly endReason?: string;
  readonly direction?: string;
  readonly caller?: string;
  readonly after?: string;
  readonly before?: string;
  readonly limit: number;
}

async function listSessions(common: CommandContext, options: ListOptions): Promise<void> {
  const api = common.api();
  const rows: Json[] = [];
  for await (const row of api.list(`/v1/agent/sessions?${await listQuery(api, options)}`, 'sessions')) {
    rows.push(row);
    if (rows.length === options.limit) break;
  }
  show(rows, common, () =>
    printTable(
      ['ID', 'CREATED', 'STATUS', 'ENDED BY', 'SECONDS', 'FROM', 'TO', 'AGENT'],
      rows.map((row: Json) => [
        row.session_id,
        row.created_at,
        row.status,
        row.end_reason,
        row.duration_seconds,
        ...endsOf(row),
        row.agent_name,
      ]),
    ),
  );
}

async function listQuery(api: Api, options: ListOptions): Promise<URLSearchParams> {
  const given = {
    status: options.status ?? ALL_STATUSES,
    end_reason: options.endReason,
    direction: options.direction,
    caller_number: options.caller,
    created_after: options.after,
    created_before: options.before,
    agent_id: options.agent === undefined ? undefined : await findAgentId(api, options.agent),
  };
  return new URLSearchParams(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** The two ends of a call as dialled; a session names the other party's number first in both directions. */
function endsOf({ direction, caller_number: theirs, dialed_number: ours, source }: Json) {
  return direction === 'outbound' ? [ours, theirs] : [theirs ?? source, ours];
}

function printSession(session: Json): void {
  const [from, to] = endsOf(session);
  printFacts({
    Session: session.session_id,
    Agent: session.agent_name,
    Status: session.status + (session.end_reason === null ? '' : `, ${session.end_reason}`),
    ...(session.dial_error === undefined ? {} : { Cause: session.dial_error }),
    From: from,
    To: to,
    Started: session.started_at,
    Seconds: session.duration_seconds,
    ...(session.media_quality?.unheard && { Unheard: explainUnheard(session.media_quality.unheard) }),
  });
  printBlock(session.items.map((item: Item) => itemLine(item, session.started_at)));
  printBlock(waterfall(session.turns));
  if (session.analysis?.summary) printBlock([session.analysis.summary]);
  if (session.analysis?.status === 'skipped') printBlock([whySkipped(session.items)]);
}

function whySkipped(items: readonly Item[]): string {
  return items.some(({ type, role }) => type === 'message' && role === 'user')
    ? 'Analysis skipped: the agent asks for no summary, data or criteria.'
    : 'Analysis skipped: the caller said nothing.';
}

function printBlock(lines: readonly string[]): void {
  if (lines.length > 0) console.log(`\n${lines.map(printable).join('\n')}`);
}

async function placeCall(common: CommandContext, number: string, options: CallOptions): Promise<void> {
  const api = common.api();
  const from = await callingNumber(api, options.from);
  const agentId = options.agent === undefined ? from.agent_id : await findAgentId(api, options.agent);
  if (agentId === null)
    throw new CommandError(`no agent answers ${from.phone_number}: name one with --agent`);
  const say = (line: string) => {
    if (!common.json) console.log(printable(line));
  };
  const { session_id: id } = await api.post('/v1/agent/phone-calls', {
    agent_id: agentId,
    phone_number_id: from.phone_number_id,
    to_number: number,
    extension: options.extension,
  });
  say(`Calling ${number} from ${from.phone_number} (session ${id})`);
  // Ctrl-C hangs up, so that the call does not continue at the user's cost; a second Ctrl-C quits at once.
  process.once('SIGINT', () => {
    say('Hanging up');
    void api
      .post(`/v1/agent/sessions/${id}/end`)
      .catch((error: unknown) => console.error((error as Error).message));
  });
  const seen = newWatch();
  let session: Json;
  do {
    if (session) await sleep(POLL_MS);
    session = await api.get(`/v1/agent/sessions/${id}`);
    for (const line of seen.unprintedLines(session)) say(line);
  } while (isLive(session));
  if (common.json) console.log(JSON.stringify(session));
  else printBlock(waterfall(session.turns));
  if (session.status !== 'completed') process.exitCode = EXIT.failed;
}

async function callingNumber(api: Api, wanted: string | undefined) {
  const numbers = await api.all('/v1/agent/phone-numbers', 'phone_numbers');
  const found = numbers.find(({ phone_number, status, supports_outbound }) =>
    wanted === undefined ? status === 'active' && supports_outbound : phone_number === wanted,
  );
  if (!found)
    throw new CommandError(
      wanted === undefined
        ? 'no number can place calls: get one first (POST /v1/agent/phone-numbers)'
        : `${wanted} is not one of your numbers`,
    );
  return found;
}

async function followAll(common: CommandContext, isEndless: boolean): Promise<void> {
  const api = common.api();
  const watched = new Map<string, ReturnType<typeof newWatch>>();
  const printUpdate = async (id: string) => {
    const watch = watched.get(id) ?? newWatch();
    watched.set(id, watch);
    const session = await api.get(`/v1/agent/sessions/${id}`);
    for (const line of watch.unprintedLines(session)) {
      if (common.json) console.log(JSON.stringify({ session_id: id, line }));
      else console.log(printable(`${id.slice(0, 8)}  ${line}`));
    }
    if (!isLive(session)) watched.delete(id);
  };
  const printLive = async () => {
    const { sessions } = await api.get('/v1/agent/sessions?status=pending,active,unknown&page_size=100');
    for (const id of new Set<string>([
      ...watched.keys(),
      ...sessions.map(({ session_id }: Json) => session_id),
    ]))
      await printUpdate(id);
  };
  if (!isEndless) return printLive();
  for (;;) {
    // Listing the sessions at the start of each stream covers changes between two streams.
    for await (const event of api.events('/v1/agent/events'))
      await (event.name === 'session' ? printUpdate(event.data.session_id) : printLive());
    await sleep(POLL_MS);
  }
}

/** Tracks which lines of a session have been printed. */
function newWatch() {
  let printedState = '';
  let items = 0;
  return {
    unprintedLines(session: Json): string[] {
      const parts = [session.status, session.dial_status, session.end_reason];
      const state = [...new Set(parts.filter((part) => part !== null))].join(', ');
      const hasEnded = !isLive(session);
      const lines = session.items.slice(items).map((item: Item) => itemLine(item, session.started_at));
      items = session.items.length;
      const head =
        state === printedState
          ? []
          : [
              state +
                (printedState === '' ? `, ${session.direction}, ${session.agent_name}` : '') +
                (hasEnded ? `, ${session.duration_seconds ?? 0} s` : ''),
            ];
      if (head.length > 0 && session.dial_error !== undefined) head.push(session.dial_error);
      printedState = state;
      // The end of a session is printed after its last items; any other state before the items that follow
      // it.
      return hasEnded ? [...lines, ...head] : [...head, ...lines];
    },
  };
}

function isLive({ status }: Json): boolean {
  return status !== 'completed' && status !== 'failed';
}
