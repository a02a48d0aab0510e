/** `parley start`: runs the product, or one of its parts, in this process (main.ts). */
import { Argument, type Command } from 'commander';

const PARTS = ['all', 'control-plane', 'signalling', 'worker'] as const;

/** Adds the command. */
export function addStartCommand(program: Command): void {
  program
    .command('start')
    .description('run the product in this terminal, or one of its parts (settings: docs/settings.md)')
    .addArgument(new Argument('[part]', 'what to run').choices(PARTS).default('all'))
    .action(async (part: string) => {
      process.argv.splice(2, Number.POSITIVE_INFINITY, part);
      await import(new URL('../main.ts', import.meta.url).href);
    });
}
