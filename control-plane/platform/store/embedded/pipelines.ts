/**
 * The library of aggregation pipelines and expressions. It is loaded at its first use, or a moment after the
 * start, from its build in one file: its 300 modules took a quarter of a second in each of the database's
 * threads.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { compileFunction } from 'node:vm';

type Mingo = Pick<typeof import('mingo'), 'Aggregator' | 'Context' | 'Query'>;

/** The library's parts that the database uses. */
interface Pipelines extends Mingo {
  /** True for the library's own errors, which are about a pipeline. */
  isRefusal(error: unknown): error is Error;
}

let loaded: Pipelines | null = null;

/** The library, which the first call loads. */
export function pipelines(): Pipelines {
  loaded ??= load();
  return loaded;
}

function load(): Pipelines {
  const folder = dirname(createRequire(import.meta.url).resolve('mingo/package.json'));
  const filename = join(folder, 'dist/mingo.min.js');
  // A script for browsers, which declares a variable.
  const script = compileFunction(`${readFileSync(filename, 'utf8')}\nreturn mingo;`, [], { filename });
  const { Aggregator, Context, Query } = script() as Mingo;
  const refusal = refusalOf(() => new Aggregator([{ $noSuchStage: 0 }]).run([]));
  if (!(refusal instanceof Error) || refusal.constructor === Error)
    throw new Error('mingo has no class of errors');
  const Refusal = refusal.constructor as typeof Error;
  return {
    Aggregator,
    Context,
    Query,
    isRefusal: (error): error is Error => error instanceof Refusal,
  };
}

/** The script does not export its class of errors, so one is provoked. */
function refusalOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
