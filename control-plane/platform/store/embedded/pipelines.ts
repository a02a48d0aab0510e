/**
 * The library of aggregation pipelines and expressions. It has 300 modules, whose loading took a third of the
 * start of the database's threads: it is loaded at its first use, or a moment after the start.
 */
import { createRequire } from 'node:module';

/** The library's parts that the database uses. */
type Pipelines = Pick<typeof import('mingo'), 'Aggregator' | 'Context' | 'Query'> &
  Pick<typeof import('mingo/lazy'), 'Lazy'>;

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
