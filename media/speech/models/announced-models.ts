/** Downloads and loads on a worker the models that the control plane has announced. */
import type { Logger } from '#base/log.ts';
import type { ModelDownloads } from './model-downloads.ts';
import { recommended } from './model-table.ts';

/** Options of `announcedModels`. */
export interface AnnouncedModelsOptions {
  readonly downloads: Pick<ModelDownloads, 'table' | 'has' | 'start'>;
  /** Loads a recogniser before its first call. */
  readonly prepare: (id: string) => void;
  readonly logger: Logger;
}

/**
 * Receives the ids of the control plane's models, each time perhaps with known ones. Downloads those that are
 * missing, again if that failed before. Loads at most one of those announced for the first time: each takes
 * memory in every worker, and the others load with their first call.
 */
export function announcedModels({
  downloads,
  prepare,
  logger,
}: AnnouncedModelsOptions): (ids: readonly string[]) => void {
  const known = new Set<string>();
  return (ids) => {
    const fresh = ids.filter((id) => !known.has(id));
    for (const id of fresh) known.add(id);
    const unknown = fresh.filter((id) => !downloads.table.some((model) => model.id === id));
    if (unknown.length > 0)
      logger.warn(
        { models: unknown },
        'the control plane has speech models that MODELS_TABLE of this machine lacks',
      );
    const announced = downloads.table.filter(({ id }) => ids.includes(id));
    for (const model of announced) if (!downloads.has(model)) void downloads.start(model);
    const first = recommended(announced.filter((model) => fresh.includes(model.id) && downloads.has(model)));
    if (first) prepare(first.id);
  };
}
