/** `parley wallet`: shows an account's credit, and verifies the ledgers. */
import type { Command } from 'commander';
import { EXIT } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { printFacts, show } from './output.ts';

/** Adds the commands. */
export function addWalletCommands(program: Command, common: CommandContext): void {
  const wallet = program.command('wallet').description('the credit of an account');
  wallet
    .command('show [user]')
    .description('show the credit of the key’s account, or of another user (operator)')
    .action(async (user = 'self') => {
      const record = await common.api().get(`/wallet/${encodeURIComponent(user)}/api-credit`);
      show(record, common, () =>
        printFacts({
          User: record.user_id,
          Credit: `$${record.credit}`,
          'Topped up': `$${record.cumulative_top_up}`,
          Changed: record.updated_at,
        }),
      );
    });
  wallet
    .command('verify')
    .description(
      `verify that every ledger is complete and adds up to its balance; exit ${EXIT.failed} and list the ` +
        'flaws otherwise (operator)',
    )
    .action(async () => {
      const audit = await common.api().get('/admin/wallets/verify');
      show(audit, common, () => {
        for (const { user_id, seq, problem } of audit.flaws)
          console.log(`✗ user ${user_id}, entry ${seq}: ${problem}`);
        if (audit.flaws.length === 0)
          console.log(
            `✓ ${audit.entries} entries of ${audit.users} users: every balance is the sum of its entries, ` +
              'and no entry is missing',
          );
      });
      if (audit.flaws.length > 0) process.exitCode = EXIT.failed;
    });
}
