/**
 * `parley`: the command line of a running product, over its public HTTP API (docs/operations.md). Exit codes:
 * 0 success; 1 a check failed (a failed test, a difference, an inconsistent ledger, an unanswered call); 2
 * wrong usage, or refused by the API; 3 the product cannot be reached.
 */
import { Command, CommanderError } from 'commander';
import { programVersion } from '#base/program-version.ts';
import { addAgentCommands } from './agents.ts';
import { Api, accessOf, addressOf, CommandError, EXIT } from './api.ts';
import { addBackupCommands } from './backup.ts';
import { addBatchCommands } from './batch.ts';
import { addCallFileCommands } from './call-files.ts';
import type { CommandContext } from './command-context.ts';
import { addDoctorCommand } from './doctor.ts';
import { addEraseCommand } from './erase.ts';
import { addMakeTestCommand } from './make-test.ts';
import { addModelCommands } from './models.ts';
import { addNumberCommands } from './numbers.ts';
import { addPbxCommands } from './pbx.ts';
import { addPhoneCommands } from './phones.ts';
import { addRegretCommand } from './regret.ts';
import { addRehearseCommand } from './rehearse.ts';
import { addReplayCommands } from './replay.ts';
import { addScorecardCommand } from './scorecard.ts';
import { addSessionCommands } from './sessions.ts';
import { addShareCommand } from './share.ts';
import { addStartCommand } from './start.ts';
import { addStatusCommand } from './status.ts';
import { addTestCommand } from './test.ts';
import { addWalletCommands } from './wallet.ts';

const program = new Command('parley')
  .description('The command line of Parley, over its HTTP API')
  .version(programVersion())
  .option('--url <url>', 'address of the product (PARLEY_URL; default: http://127.0.0.1:8080)')
  .option(
    '--key <key>',
    'API key (PARLEY_API_KEY, ROOT_API_KEY; default: the operator’s in DATA_DIR/credentials.json)',
  )
  .option('--json', 'print JSON, one value, for scripts')
  .addHelpText(
    'after',
    '\nExit codes: 0 success, 1 a check failed, 2 wrong usage or refused by the API, 3 product not reachable',
  )
  .showHelpAfterError('(see parley --help)')
  .configureHelp({ showGlobalOptions: true })
  .exitOverride();

const common: CommandContext = {
  api: () => new Api(accessOf(program.opts(), process.env)),
  get url() {
    return addressOf(program.opts(), process.env);
  },
  get json() {
    return program.opts()['json'] === true;
  },
};
for (const add of [
  addStartCommand,
  addAgentCommands,
  addNumberCommands,
  addPbxCommands,
  addPhoneCommands,
  addSessionCommands,
  addShareCommand,
  addScorecardCommand,
  addReplayCommands,
  addRegretCommand,
  addRehearseCommand,
  addCallFileCommands,
  addWalletCommands,
  addEraseCommand,
  addTestCommand,
  addMakeTestCommand,
  addBatchCommands,
  addBackupCommands,
  addModelCommands,
  addDoctorCommand,
  addStatusCommand,
])
  add(program, common);

// A reader that closes the pipe, such as `head`, ends the command.
process.stdout.on('error', () => process.exit(EXIT.ok));
try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.refused;
  else if (error instanceof CommandError) {
    console.error(error.message);
    process.exitCode = error.exitCode;
  } else {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = EXIT.refused;
  }
}
