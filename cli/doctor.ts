/**
 * `parley doctor`: checks the parts of a deployment one by one, and suggests a fix for each that fails. Run
 * it with the product's settings.
 */
import type { Command } from 'commander';
import { type Settings, SettingsError } from '#config/env.ts';
import { readSettingsAndFiles } from '#config/secret-files.ts';
import { type Api, CommandError, EXIT } from './api.ts';
import type { CheckResult } from './check-result.ts';
import type { CommandContext } from './command-context.ts';
import { checkLivekit } from './doctor-livekit.ts';
import { checkLocalModels } from './doctor-local-models.ts';
import { bindTcp, checkAddresses, checkMediaPorts, checkServerPorts } from './doctor-machine.ts';
import { checkRelays } from './doctor-relay.ts';
import { checkSipTls } from './doctor-tls.ts';
import { show } from './output.ts';
import { findSip, reachableHost } from './test-call-permit.ts';

const MARKS = { ok: '✓', note: '–', failed: '✗' } as const;

/** Adds the command. */
export function addDoctorCommand(program: Command, common: CommandContext): void {
  program
    .command('doctor')
    .description(
      'check settings, ports, keys, database, speech engines and a call with audio in both directions; ' +
        `exit ${EXIT.failed} if a check fails`,
    )
    .option('--sip <host:port>', 'where the running product accepts calls; default: where it says')
    .option('--number <number>', 'number of the test calls; default: that of the demo agent')
    .option('--no-call', 'skip the test calls, which are free and appear in no list')
    .action(async (options: DoctorOptions) => {
      const results: CheckResult[] = [];
      for await (const result of runChecks(common, options)) {
        results.push(result);
        if (!common.json) printResult(result);
      }
      show(results.map(toJson), common, () => undefined);
      if (results.some(({ verdict }) => verdict === 'failed')) process.exitCode = EXIT.failed;
    });
}

interface DoctorOptions {
  readonly sip?: string;
  readonly number?: string;
  readonly call: boolean;
}

function printResult({ subject, verdict, result, fix }: CheckResult): void {
  console.log(`${MARKS[verdict]} ${subject}: ${result}`);
  if (fix) console.log(`    ${fix}`);
}

/** Field names of `--json`, on which scripts rely. */
function toJson({ subject, verdict, result, fix }: CheckResult) {
  return { what: subject, verdict, found: result, ...(fix === undefined ? {} : { advice: fix }) };
}

async function* runChecks(common: CommandContext, options: DoctorOptions): AsyncGenerator<CheckResult> {
  const settings = settingsOf(process.env);
  if (!('DATA_DIR' in settings)) {
    yield settings;
    return;
  }
  yield { subject: 'Settings', verdict: 'ok', result: 'every value is valid' };
  yield* checkAddresses(settings);
  const product = await checkApi(common);
  yield product.result;
  const sip = await findSip(settings, product.api, options.sip);
  const host = reachableHost(sip.host);
  yield* checkServerPorts(settings, product.api !== null, { host, port: sip.port });
  const tls = await checkSipTls(settings, {
    host,
    isRunning: product.api !== null,
    nowMs: Date.now(),
    canBind: bindTcp,
  });
  if (tls) yield tls;
  yield await checkMediaPorts(settings);
  yield* checkRelays(settings);
  yield* checkLocalModels(settings);
  yield* checkLivekit(settings);
  if (product.api) yield* checkProduct(product.api);
  // Imported on use: loading the engines is slow, and no other command needs them.
  const { checkSpeech } = await import('./doctor-speech.ts');
  yield* checkSpeech(settings);
  if (product.api && options.call) {
    // Imported on use, for the same reason.
    const { checkCalls } = await import('./doctor-call.ts');
    yield* checkCalls(product.api, sip, options.number);
  }
}

function settingsOf(environment: NodeJS.ProcessEnv): Settings | CheckResult {
  try {
    return readSettingsAndFiles(environment);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return {
      subject: 'Settings',
      verdict: 'failed',
      result: error.problems.join('; '),
      fix: 'correct these settings: the product does not start with them',
    };
  }
}

async function checkApi(
  common: CommandContext,
): Promise<{ readonly api: Api | null; readonly result: CheckResult }> {
  const subject = 'Product';
  try {
    const api = common.api();
    await api.get('/wallet/self/api-credit');
    return { api, result: { subject, verdict: 'ok', result: `answers at ${api.url} and accepts the key` } };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return {
      api: null,
      result: {
        subject,
        verdict: 'failed',
        result: error.message,
        fix: 'checks that need a running product are skipped',
      },
    };
  }
}

async function* checkProduct(api: Api): AsyncGenerator<CheckResult> {
  const response = await fetch(`${api.url}/readyz`);
  const state = (await response.json()) as { database?: boolean; worker?: boolean };
  yield {
    subject: 'Database',
    ...(state.database
      ? { verdict: 'ok', result: 'answers' }
      : { verdict: 'failed', result: 'does not answer', fix: 'see the log of the control plane' }),
  };
  yield {
    subject: 'Workers',
    ...(state.worker
      ? { verdict: 'ok', result: 'at least one accepts calls' }
      : {
          verdict: 'failed',
          result: 'none is connected',
          fix: 'start one (`npm run start:worker`), or see the log of `npm start`',
        }),
  };
  const { llm } = await api.get('/v1/agent/models');
  const model = llm.find((offered: { default: boolean }) => offered.default)?.id;
  yield model === 'local/demo'
    ? {
        subject: 'Language model',
        verdict: 'note',
        result: 'local/demo, a set of rules',
        fix: 'run `ollama pull llama3.2`, or set OPENAI_API_KEY or another vendor’s key (docs/settings.md)',
      }
    : { subject: 'Language model', verdict: 'ok', result: model };
}
