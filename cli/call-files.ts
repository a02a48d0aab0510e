/** `parley export-call` and `parley verify-call`: an ended call in one signed file, and the proof of it. */
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { parseJson } from '#base/parse-json.ts';
import { keyIdOf } from '#protocol/call-bytes.ts';
import {
  KEYS_PATH,
  publishedKeys,
  type ReadCallFile,
  readCallFile,
  redactedNames,
  splitCallFile,
} from '#protocol/call-file.ts';
import { signedInCall, signingTimes, timesText } from '#protocol/signing-times.ts';
import { CommandError, EXIT } from './api.ts';
import { readGiven } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printable, printFacts, show } from './output.ts';

/** Larger than any file that Parley writes. */
const MOST_FILE_BYTES = 384 * 1_048_576;

/** Adds the commands. */
export function addCallFileCommands(program: Command, common: CommandContext): void {
  program
    .command('export-call <session>')
    .description('write an ended call to one file that replays in any browser and proves what was said')
    .requiredOption('-o, --output <file>', 'file to write, such as call.html')
    .option(
      '--redact <parts>',
      'a comma list of caller_audio, agent_audio, transcript, item:<number>, numbers and flight_log',
      (list: string) => list.split(',').map((part) => part.trim()),
      [],
    )
    .action(async (id: string, options: { output: string; redact: string[] }) =>
      exportCall(common, id, options),
    );
  program
    .command('verify-call <file>')
    .description(`verify such a file without a connection; exit ${EXIT.failed} if anything in it was changed`)
    .option(
      '--keys <file>',
      `the keys that the deployment publishes at ${KEYS_PATH}; otherwise the key in the file counts, and ` +
        'you compare its id',
    )
    .option(
      '--digest <digest>',
      'a digest of the call’s chain from an earlier time, which the file must contain (call-chain)',
    )
    .action(async (file: string, options: Expected) => verifyCall(common, file, options));
  program
    .command('call-chain <session>')
    .description('print the digest of all that was signed of a call so far, to keep or to give away')
    .action(async (id: string) => callChain(common, id));
}

async function exportCall(
  common: CommandContext,
  id: string,
  { output, redact }: { readonly output: string; readonly redact: readonly string[] },
): Promise<void> {
  const response = await common.api().send('POST', `/v1/agent/sessions/${encodeURIComponent(id)}/call-file`, {
    body: JSON.stringify({ redact }),
    headers: { 'content-type': 'application/json' },
  });
  const partial = `${output}.partial`;
  try {
    const body = response.body as unknown as AsyncIterable<Uint8Array>;
    await pipeline(body, createWriteStream(partial, { mode: 0o600 }));
    await rename(partial, output);
  } catch (error) {
    throw new CommandError(`${output} was not written whole, try again: ${(error as Error).message}`);
  } finally {
    await rm(partial, { force: true });
  }
  show({ session_id: id, file: output }, common, () => console.log(`Wrote ${output}; open it in a browser`));
}

async function callChain(common: CommandContext, id: string): Promise<void> {
  const answer = await common.api().get(`/v1/agent/sessions/${encodeURIComponent(id)}/call-chain`);
  show(answer, common, () =>
    printFacts({
      Links: String(answer.links),
      Digest: answer.digest ?? 'none yet',
      'Signed at': answer.signed_at ?? 'not yet',
    }),
  );
}

/** What a file is compared with. */
interface Expected {
  readonly keys?: string;
  /** Of a link of its chain. */
  readonly digest?: string;
}

async function verifyCall(common: CommandContext, file: string, { keys, digest }: Expected): Promise<void> {
  const trusted = keys === undefined ? null : await keyIdsIn(keys);
  const text = textOf(readGiven(file, MOST_FILE_BYTES));
  const split = text === null ? null : splitCallFile(text);
  if (!split) throw new CommandError(`${file} is no exported call, or it is cut off`, EXIT.failed);
  const read = await readCallFile(split, trusted);
  const { statement, keyId } = read;
  const isContinued = digest === undefined || read.chain?.links.some((link) => link.digest === digest);
  const problems = isContinued
    ? read.problems
    : [...read.problems, `The chain of the file has no link with the digest ${digest}`];
  const redacted = redactedNames(read.parts);
  const isGenuine = problems.length === 0;
  // The file names its own key and issuer: a forger can sign anything as anyone.
  const isVerified = isGenuine && trusted !== null;
  show(
    {
      ...{ verified: isVerified, unchanged: isGenuine, problems, key_id: keyId, redacted, statement },
      chain: chainRecord(read),
    },
    common,
    () => {
      if (isVerified) console.log('Verified');
      else if (isGenuine) console.log('Unchanged since it was signed; the key is not confirmed');
      else console.log(`Not verified:\n${problems.map((text) => `- ${printable(text)}`).join('\n')}`);
      if (statement)
        printFacts({
          Session: statement.session_id,
          [isVerified ? 'Signed by' : 'Says it is by']: `${statement.issuer}, key ${keyId}`,
          'Signed at': statement.signed_at,
          Redacted: redacted.length === 0 ? 'nothing' : redacted.join(', '),
          'Signed in the call': chainText(read),
          ...Object.fromEntries(signingTimes(read).map((times) => [times.name, timesText(times, String)])),
        });
      if (isGenuine && !trusted)
        console.log(
          `Save the keys of the deployment that you trust, from its ${KEYS_PATH}, and name them with --keys`,
        );
    },
  );
  if (!isGenuine) process.exitCode = EXIT.failed;
}

/** The chain for programs; null without one. */
function chainRecord({ chain, parts }: ReadCallFile): object | null {
  if (!chain) return null;
  return {
    links: chain.links.map(({ digest, epoch, signedAt }) => ({ digest, epoch, signed_at: signedAt })),
    key_ids: chain.keyIds,
    parts: parts.map((part) => ({
      ...part.label,
      name: part.name,
      signed_in_call: signedInCall(part, chain),
    })),
    missing: chain.missing.map(({ label, signedAt }) => ({ ...label, signed_in_call: signedAt })),
  };
}

function chainText({ chain }: ReadCallFile): string {
  const last = chain?.links.at(-1);
  if (!chain || !last) return 'nothing: the file was signed at the export only';
  const workers = new Set(chain.links.map(({ epoch }) => epoch)).size;
  return `${count(chain.links.length, 'time')}, with ${count(workers, 'worker')}; last digest ${last.digest}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Null if the bytes are no text: read as one, several of them would be the same. */
function textOf(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Thumbprints of published keys. Throws `CommandError`. */
async function keyIdsIn(file: string): Promise<string[]> {
  const published = parseJson(publishedKeys, readGiven(file).toString('utf8'));
  if (!published) throw new CommandError(`${file} has no keys: save what ${KEYS_PATH} answers`);
  return Promise.all(published.keys.map(({ x }) => keyIdOf(x)));
}
