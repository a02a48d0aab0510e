/** `parley models`: downloads models for local speech into DATA_DIR, resuming earlier downloads. */
import type { Command } from 'commander';
import { systemClock } from '#base/clock.ts';
import type { Settings } from '#config/env.ts';
import { readSettingsAndFiles } from '#config/secret-files.ts';
import { installModel, RETRY_AFTER_MS } from '#media/speech/models/install-model.ts';
import { isComplete, modelsDirectory, readSpeed } from '#media/speech/models/installed-models.ts';
import { ModelError } from '#media/speech/models/model-error.ts';
import { bytesOf, readModelTable, recommended, type SpeechModel } from '#media/speech/models/model-table.ts';
import { CommandError, EXIT } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { mebibytes, printTable, show, showProgress } from './output.ts';

type Place = Pick<Settings, 'DATA_DIR' | 'MODELS_URL'>;

/** Adds the command. */
export function addModelCommands(program: Command, common: CommandContext): void {
  program
    .command('models [name...]')
    .description(
      'download recognisers and voices into DATA_DIR (an English recogniser if none is named); the next ' +
        'call uses them',
    )
    .option('--list', 'only list the models')
    .action(async (names: string[], { list }: { list?: boolean }) => {
      const settings = readSettingsAndFiles(process.env);
      const table = tableOf(settings.MODELS_TABLE);
      const unknown = names.find((name) => !table.some(({ id }) => id === name));
      if (unknown !== undefined)
        throw new CommandError(`there is no model ${unknown}: see parley models --list`);
      const named = table.filter(({ id }) => names.includes(id));
      if (list) {
        listModels(names.length === 0 ? table : named, settings, common);
        return;
      }
      const suggested = recommended(table);
      for (const model of names.length === 0 && suggested ? [suggested] : named)
        await download(model, settings, common);
    });
}

function tableOf(file: string | undefined): readonly SpeechModel[] {
  try {
    return readModelTable(file);
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error));
  }
}

function listModels(models: readonly SpeechModel[], { DATA_DIR }: Place, common: CommandContext): void {
  const facts = models.map((model) => ({
    name: model.id,
    kind: model.kind,
    title: model.title,
    licence: model.licence,
    languages: model.languages,
    bytes: bytesOf(model),
    installed: isComplete(DATA_DIR, model),
    real_time_factor: readSpeed(DATA_DIR, model.id),
  }));
  show(facts, common, () =>
    printTable(
      ['NAME', 'KIND', 'LANGUAGES', 'SIZE', 'LICENCE', 'INSTALLED', 'REAL-TIME FACTOR', 'WHAT'],
      facts.map(({ name, kind, languages, bytes, licence, installed, real_time_factor, title }) => [
        name,
        kind,
        languages.join(' '),
        mebibytes(bytes),
        licence,
        installed ? 'yes' : 'no',
        real_time_factor,
        title,
      ]),
    ),
  );
}

async function download(model: SpeechModel, place: Place, common: CommandContext): Promise<void> {
  const all = bytesOf(model);
  let percent = -1;
  const onBytes = (present: number) => {
    const now = Math.floor((100 * present) / all);
    if (now === percent) return;
    percent = now;
    showProgress(`${model.id}  ${now} %  ${mebibytes(present)} of ${mebibytes(all)}`);
  };
  try {
    await installModel(model, {
      dataDir: place.DATA_DIR,
      baseUrl: place.MODELS_URL,
      clock: systemClock,
      signal: new AbortController().signal,
      onBytes,
      onChecking: () => showProgress(`${model.id}  verifying, loading and measuring`),
      retryAfterMs: RETRY_AFTER_MS,
    });
  } catch (error) {
    showProgress('');
    throw error instanceof ModelError
      ? new CommandError(
          `${model.id}: ${error.message}`,
          error.failure === 'offline' ? EXIT.unreachable : undefined,
        )
      : error;
  }
  showProgress('');
  const directory = `${modelsDirectory(place.DATA_DIR)}/${model.id}`;
  const factor = readSpeed(place.DATA_DIR, model.id);
  show({ name: model.id, directory, real_time_factor: factor }, common, () =>
    console.log(
      `${model.id} is in ${directory}; the next call uses it (real-time factor ${factor} on this machine)`,
    ),
  );
}
