/**
 * `parley replay`, `parley bisect` and `parley tune`: ended calls replayed from their flight logs, unchanged,
 * in other versions, or with other settings.
 */
import type { Command } from 'commander';
import { LIMITS } from '#config/limits.ts';
import { countUpTo } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import type { LearnOptions } from './learn.ts';

/** Adds the commands. */
export function addReplayCommands(program: Command, common: CommandContext): void {
  program
    .command('replay <session>')
    .description('replay a call unchanged, or show where other settings would change it')
    .option(
      '--set <setting=value>',
      'such as conversation.eagerness=eager; may be repeated',
      (one: string, all: string[]) => [...all, one],
      [],
    )
    .action(async (id: string, { set }: { set: string[] }) =>
      (await loadReplay()).replaySession(common, id, set),
    );
  program
    .command('bisect <session>')
    .description('names the change of the agent or of the program that made a moment of a call bad')
    .option('--measure <name>', 'silence (default), wait, cut-off, hold-line, stopped or not-interrupted')
    .option('--expr <expression>', 'such as "wait_ms > 1500 at turn 3"; a name also takes "at …"')
    .action(async (id: string, options: { measure?: string; expr?: string }) =>
      (await import('./bisect-run.ts')).bisectSession(common, id, options),
    );
  program
    .command('tune <agent>')
    .description(
      'what other waits and eagerness would have done to an agent’s calls: callers cut off against time ' +
        'saved',
    )
    .option('--calls <count>', 'number of latest calls to evaluate', countUpTo(LIMITS.tunedCalls), 50)
    .option('--learn', 'let the agent learn its waits from now on, within the bounds of the next options')
    .option('--cut-offs <count>', 'callers cut off in 100 turns, at most; default: 5', Number)
    .option('--wait-min <ms>', 'shortest response_wait_ms; default: 300', countUpTo(2_000))
    .option('--wait-max <ms>', 'longest response_wait_ms; default: 2000', countUpTo(2_000))
    .option('--stop-learning', 'end learning; the published version stays')
    .action(async (agent: string, options: { calls: number } & LearnOptions) =>
      options.learn || options.stopLearning
        ? (await import('./learn.ts')).learn(common, agent, options)
        : (await loadReplay()).tune(common, agent, options.calls),
    );
}

/** Imported on use: loading the turn machine takes a quarter of the program's start-up time. */
function loadReplay(): Promise<typeof import('./replay-run.ts')> {
  return import('./replay-run.ts');
}
