/** `parley make-test`: makes a test by voice of an ended call. */
import { type Command, Option } from 'commander';
import { VOICE_FAULTS, type VoiceTestFile } from '#protocol/voice-test.ts';
import { writeNamed } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printable, show } from './output.ts';

/** Adds the command. */
export function addMakeTestCommand(program: Command, common: CommandContext): void {
  program
    .command('make-test <session>')
    .description(
      'make a test by voice of an ended call, so that a fault of it does not come back; private data of a ' +
        'recognisable form is replaced first: read the file before you share it',
    )
    .requiredOption('-o, --output <file>', 'file to write, such as cut-off.json')
    .addOption(
      new Option(
        '--fault <fault>',
        'what must not happen again; default: the first that the call has',
      ).choices(VOICE_FAULTS),
    )
    .option('--tool <name>', 'function name of the tool that the agent should have called')
    .action(async (id: string, options: { output: string; fault?: string; tool?: string }) =>
      makeTest(common, id, options),
    );
}

async function makeTest(
  common: CommandContext,
  id: string,
  { output, ...wanted }: { readonly output: string; readonly fault?: string; readonly tool?: string },
): Promise<void> {
  const query = new URLSearchParams(wanted).toString();
  const path = `/v1/agent/sessions/${encodeURIComponent(id)}/voice-test${query === '' ? '' : `?${query}`}`;
  const test: VoiceTestFile = await common.api().get(path);
  writeNamed(output, `${JSON.stringify(test, null, 2)}\n`);
  show({ session_id: id, file: output, fault: test.made_from?.fault }, common, () => {
    const replaced = Object.entries(test.made_from?.replaced ?? {})
      .filter(([, count]) => count > 0)
      .map(([kind, count]) => `${kind.replaceAll('_', ' ')} ${count}`);
    console.log(`Wrote ${output}: “${printable(test.name)}”`);
    console.log(
      replaced.length === 0
        ? 'No private data was recognised: read the lines before you share the file.'
        : `Replaced: ${replaced.join(', ')}. Read the lines before you share the file.`,
    );
  });
}
