/** `parley test --voice`: phones the draft as the callers of test files do, and judges what was heard. */
import { findAgentId } from './agent-sync.ts';
import { CommandError, EXIT } from './api.ts';
import { writeNamed } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { show, showProgress } from './output.ts';
import { callerAddresses } from './place-test-call.ts';
import { seenFrom, sipAddress } from './test-call-permit.ts';
import { permitVoiceCall, type VoiceStage } from './voice-call.ts';
import { readVoiceTests } from './voice-files.ts';
import { printVoiceResults, voiceJunit } from './voice-report.ts';
import { runVoiceTests, speakTests } from './voice-run.ts';

/** Options of the command. */
export interface VoiceTestOptions {
  readonly voice: readonly string[];
  readonly repeat?: number;
  readonly against?: string;
  readonly parallel: number;
  readonly junit?: string;
  readonly sip?: string;
  readonly from?: string;
}

/** Runs the tests, prints what was heard, and sets the exit code. Throws `CommandError`. */
export async function testByVoice(
  common: CommandContext,
  agent: string,
  options: VoiceTestOptions,
): Promise<void> {
  const tests = readVoiceTests(options.voice);
  const version = versionOf(options.against);
  const api = common.api();
  const agentId = await findAgentId(api, agent);
  const given = options.sip === undefined ? null : await sipAddress(options.sip);
  const called = { api, agentId, version };
  // Also refuses an unknown version before anything is spoken.
  const permit = await permitVoiceCall(called);
  const sip = given ?? (permit.sip && (await seenFrom(api, permit.sip)));
  if (!sip)
    throw new CommandError('the product uses an external SIP server: name its address with --sip host:port');
  const stage = { ...called, sip, from: options.from ?? ownAddress(sip.host) };
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const results = await runVoiceTests(stage, await speakTests(tests), {
    repeat: options.repeat ?? null,
    parallel: options.parallel,
    signal: stop.signal,
    onRun: (done, all) => showProgress(`${done} of ${all} calls`),
  });
  showProgress('');
  const passed = results.every((result) => result.passed);
  const { config_hash } = permit;
  show({ agent_id: agentId, version, config_hash, passed, tests: results }, common, () =>
    printVoiceResults(results),
  );
  // After they are shown: a file that cannot be written loses no result.
  if (options.junit !== undefined) writeNamed(options.junit, voiceJunit(results));
  if (!passed) process.exitCode = EXIT.failed;
}

/** Throws `CommandError`. */
function versionOf(given: string | undefined): VoiceStage['version'] {
  if (given === undefined || given === 'draft') return 'draft';
  if (given === 'published') return 'published';
  if (/^[1-9]\d{0,8}$/.test(given)) return Number(given);
  throw new CommandError(`--against takes draft, published or the number of a version, not ${given}`);
}

/** The address of this machine from which a product there can be called. Throws `CommandError`. */
function ownAddress(sipHost: string): string {
  const [address] = callerAddresses(sipHost);
  if (address === undefined)
    throw new CommandError(
      `this machine has no IPv4 address that could reach ${sipHost}: name one with --from`,
    );
  return address;
}
