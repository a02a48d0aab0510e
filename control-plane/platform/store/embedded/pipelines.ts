/**
 * The library of aggregation pipelines and expressions. It has 300 modules, whose loading took a third of the
 * start of the database's threads: it is loaded at its first use, or when the start is over.
 */
import { createRequire } from 'node:module';

/** The library's parts that the database uses. */
type Pipelines = Pick<typeof import('mingo'), 'Aggregator' | 'Context' | 'Query'> &
  Pick<typeof import('mingo/lazy'), 'Lazy'>;

/** When each thread loads the library at the latest: after the start, before a call could wait for it. */
export const LOAD_PIPELINES_MS = 5_000;

let loaded: Pipelines | null = null;

/** The library, which the first call loads. */
export function pipelines(): Pipelines {
  loaded ??= load();
  return loaded;
}

function load(): Pipelines {
  const require = createRequire(import.meta.url);
  const { Aggregator, Context, Query } = require('mingo') as typeof import('mingo');
  const { Lazy } = require('mingo/lazy') as typeof import('mingo/lazy');
  return { Aggregator, Context, Query, Lazy };
}
