/**
 * `parley doctor`: checks what a working deployment needs, one by one, each with what to do about it; run it
 * with the product's settings.
 */
import type { Command } from 'commander';
import { readSettings, type Settings, SettingsError } from '#config/env.ts';
import { type Api, CommandError, EXIT } from './api.ts';
import type { Finding } from './check-result.ts';
import type { CommandContext } from './command-context.ts';
import { bindTcp, checkAddresses, checkMediaPorts, checkServerPorts } from './doctor-machine.ts';
import { checkRelays } from './doctor-relay.ts';
import { checkSipTls } from './doctor-tls.ts';
import { show } from './output.ts';

const MARKS = { ok: '✓', note: '–', failed: '✗' } as const;

/** Adds the command. */
export function addDoctorCommand(program: Command, common: CommandContext): void {
  program
    .command('doctor')
    .description(
      'check settings, ports, keys, database, speech engines and a call with audio in both directions; ' +
        `exit ${EXIT.notRight} if something is wrong`,
    )
    .option('--sip <host:port>', 'where the running product accepts calls; default: SIP_HOST and SIP_PORT')
    .option('--number <number>', 'number of the test call; default: the first one with an agent')
    .option('--no-call', 'without the test call, which costs what a call costs')
    .action(async (options: DoctorOptions) => {
      const findings: Finding[] = [];
      const tell = (finding: Finding) => {
        findings.push(finding);
        if (!common.json) printFinding(finding);
      };
      for await (const finding of examine(common, options)) tell(finding);
      show(findings, common, () => undefined);
      if (findings.some(({ verdict }) => verdict === 'failed')) process.exitCode = EXIT.notRight;
    });
}

interface DoctorOptions {
  readonly sip?: string;
  readonly number?: string;
  readonly call: boolean;
}

function printFinding({ what, verdict, found, advice }: Finding): void {
  console.log(`${MARKS[verdict]} ${what}: ${found}`);
  if (advice) console.log(`    ${advice}`);
}

async function* examine(common: CommandContext, options: DoctorOptions): AsyncGenerator<Finding> {
  const settings = settingsOf(process.env);
  if (!('DATA_DIR' in settings)) {
    yield settings;
    return;
  }
  yield { what: 'Settings', verdict: 'ok', found: 'every value is valid' };
  yield* checkAddresses(settings);
  const product = await reach(common);
  yield product.finding;
  const sip = sipAddress(settings, options.sip);
  yield* checkServerPorts(settings, product.api !== null, sip);
  const tls = await checkSipTls(settings, {
    host: sip.host,
    isRunning: product.api !== null,
    nowMs: Date.now(),
    canBind: bindTcp,
  });
  if (tls) yield tls;
  yield await checkMediaPorts(settings);
  yield* checkRelays(settings);
  if (product.api) yield* checkProduct(product.api);
  // Loading the engines takes long, and no other command needs them.
  const { checkSpeech } = await import('./doctor-speech.ts');
  yield* checkSpeech(settings);
  if (product.api && options.call) {
    // Imported on use: loading the caller takes time that other commands save.
    const { checkCall } = await import('./doctor-call.ts');
    yield await checkCall(product.api, { sip, number: options.number });
  }
}

function settingsOf(environment: NodeJS.ProcessEnv): Settings | Finding {
  try {
    return readSettings(environment);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return {
      what: 'Settings',
      verdict: 'failed',
      found: error.problems.join('; '),
      advice: 'correct them: the product does not start with these',
    };
  }
}

async function reach(
  common: CommandContext,
): Promise<{ readonly api: Api | null; readonly finding: Finding }> {
  const what = 'Product';
  try {
    const api = common.api();
    await api.get('/wallet/self/api-credit');
    return { api, finding: { what, verdict: 'ok', found: `answers at ${api.url} and accepts the key` } };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return {
      api: null,
      finding: {
        what,
        verdict: 'failed',
        found: error.message,
        advice: 'checks that need a running product are skipped',
      },
    };
  }
}

async function* checkProduct(api: Api): AsyncGenerator<Finding> {
  const response = await fetch(`${api.url}/readyz`);
  const state = (await response.json()) as { database?: boolean; worker?: boolean };
  yield {
    what: 'Database',
    ...(state.database
      ? { verdict: 'ok', found: 'answers' }
      : { verdict: 'failed', found: 'does not answer', advice: 'see the log of the control plane' }),
  };
  yield {
    what: 'Workers',
    ...(state.worker
      ? { verdict: 'ok', found: 'at least one accepts calls' }
      : {
          verdict: 'failed',
          found: 'none is connected',
          advice: 'start one (`npm run start:worker`), or see the log of `npm start`',
        }),
  };
  const { llm } = await api.get('/v1/agent/models');
  const model = llm.find((offered: { default: boolean }) => offered.default)?.id;
  yield model === 'local/demo'
    ? {
        what: 'Language model',
        verdict: 'note',
        found: 'local/demo, a set of rules',
        advice: 'set OPENAI_API_KEY or another vendor’s key (docs/settings.md)',
      }
    : { what: 'Language model', verdict: 'ok', found: model };
}

function sipAddress(
  settings: Settings,
  given: string | undefined,
): { readonly host: string; readonly port: number } {
  const parts = given === undefined ? null : /^(.+):(\d{1,5})$/.exec(given);
  if (given !== undefined && !parts) throw new CommandError('--sip must be host:port');
  if (parts) return { host: parts[1] ?? '', port: Number(parts[2]) };
  return {
    host: settings.SIP_HOST === '0.0.0.0' || settings.SIP_HOST === '::' ? '127.0.0.1' : settings.SIP_HOST,
    port: settings.SIP_PORT,
  };
}
