/** `parley models`: downloads models of local speech engines into DATA_DIR, resuming earlier downloads. */
import type { Command } from 'commander';
import { readSettings } from '#config/env.ts';
import { ModelError, PULLED_MODELS, type PulledModel, pullModel } from '#media/speech/local/pulled-models.ts';
import { CommandError, EXIT } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { mebibytes, printTable, show, showProgress } from './output.ts';

const RETRY_AFTER_MS = 1_000;

/** Adds the command. */
export function addModelCommands(program: Command, common: CommandContext): void {
  program
    .command('models [name...]')
    .description(
      'download models for local speech into DATA_DIR (all if none is named); the product uses them from ' +
        'its next start',
    )
    .option('--list', 'only list the models')
    .action(async (names: string[], { list }: { list?: boolean }) => {
      const unknown = names.find((name) => !PULLED_MODELS.some((model) => model.name === name));
      if (unknown !== undefined)
        throw new CommandError(`there is no model ${unknown}: see parley models --list`);
      const models = PULLED_MODELS.filter(({ name }) => names.length === 0 || names.includes(name));
      if (list) {
        const facts = models.map(({ name, title, licence, files }) => ({
          name,
          title,
          licence,
          bytes: sizeOf(files),
        }));
        show(facts, common, () =>
          printTable(
            ['NAME', 'SIZE', 'LICENCE', 'WHAT'],
            facts.map(({ name, bytes, licence, title }) => [name, mebibytes(bytes), licence, title]),
          ),
        );
        return;
      }
      const { DATA_DIR: dataDir, MODELS_URL: baseUrl } = readSettings(process.env);
      for (const model of models) await pull(model, { dataDir, baseUrl }, common);
    });
}

async function pull(
  model: PulledModel,
  place: { readonly dataDir: string; readonly baseUrl: string },
  common: CommandContext,
): Promise<void> {
  let percent = -1;
  const onProgress = (here: number, all: number) => {
    const now = Math.floor((100 * here) / all);
    if (now === percent) return;
    percent = now;
    showProgress(`${model.name}  ${now} %  ${mebibytes(here)} of ${mebibytes(all)}`);
  };
  try {
    await pullModel(model, { ...place, onProgress, retryAfterMs: RETRY_AFTER_MS });
    showProgress('');
  } catch (error) {
    showProgress('');
    const message = `${model.name}: ${error instanceof Error ? error.message : String(error)}`;
    if (error instanceof ModelError)
      throw new CommandError(`${message}. MODELS_URL (${place.baseUrl}) must contain the model’s files`);
    throw new CommandError(
      `${message}. Run it again to resume (MODELS_URL is ${place.baseUrl})`,
      EXIT.unreachable,
    );
  }
  const directory = `${place.dataDir}/models/${model.name}`;
  show({ name: model.name, directory }, common, () =>
    console.log(`${model.name} is in ${directory}; the product uses it from its next start`),
  );
}

function sizeOf(files: PulledModel['files']): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}
