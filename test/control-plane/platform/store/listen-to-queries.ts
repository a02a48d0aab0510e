/** The queries that the product sends to a collection, and how the embedded store answers them. */
import type { Collection } from 'mongoose';
import { vi } from 'vitest';

/** One query: of a change, the filter that finds what it changes. */
interface Query {
  readonly method: string;
  readonly filter: Readonly<Record<string, unknown>>;
  sort: Readonly<Record<string, 1 | -1>>;
}

/** A query with its plan. */
export interface PlannedQuery extends Query {
  /** Null: every document is read. */
  readonly index: string | null;
  /** The answer is sorted after all of it has been read. */
  readonly isSortedLate: boolean;
  /** Documents read that are not part of the answer. */
  readonly wasted: number;
}

const FILTER_FIRST = [
  'find',
  'findOne',
  'countDocuments',
  'updateOne',
  'updateMany',
  'findOneAndUpdate',
  'deleteOne',
  'deleteMany',
] as const;

type Method = (...parameters: unknown[]) => unknown;
type Stage = { readonly stage: string; readonly indexName?: string; readonly inputStage?: Stage };

/** Notes the queries on a collection from here on. */
export class QueryListener {
  readonly #collection: Collection;
  readonly #asked: Query[] = [];

  constructor(collection: Collection) {
    this.#collection = collection;
    for (const name of FILTER_FIRST) this.#listen(name, (parameters) => [parameters[0]]);
    this.#listen('distinct', (parameters) => [parameters[1]]);
    this.#listen('aggregate', ([stages]) => [(stages as readonly { $match?: object }[])[0]?.$match]);
    this.#listen('bulkWrite', ([writes]) =>
      (writes as readonly { updateOne: { filter: object } }[]).map(({ updateOne }) => updateOne.filter),
    );
  }

  /** Explains all queries noted so far. */
  async explain(): Promise<PlannedQuery[]> {
    vi.restoreAllMocks();
    return Promise.all(this.#asked.map((query) => this.#plan(query)));
  }

  #listen(name: string, filtersOf: (parameters: readonly unknown[]) => readonly unknown[]): void {
    const methods = this.#collection as unknown as Record<string, Method>;
    const send = (methods[name] as Method).bind(this.#collection);
    vi.spyOn(methods, name).mockImplementation((...parameters) => {
      const given = (parameters[1] ?? {}) as { sort?: Iterable<readonly [string, 1 | -1]> | object };
      const noted = filtersOf(parameters).map((filter): Query => {
        const sort = given.sort ?? {};
        return {
          method: name,
          filter: (filter ?? {}) as Query['filter'],
          sort: (Symbol.iterator in sort ? Object.fromEntries(sort as never) : sort) as Query['sort'],
        };
      });
      this.#asked.push(...noted);
      const answer = send(...parameters);
      if (name === 'find') noteSort(answer as { sort: Method }, noted);
      return answer;
    });
  }

  async #plan(query: Query): Promise<PlannedQuery> {
    const { queryPlanner, executionStats } = await this.#collection
      .find(query.filter as never, { sort: query.sort })
      .explain();
    const stages: Stage[] = [];
    for (let stage: Stage | undefined = queryPlanner.winningPlan; stage; stage = stage.inputStage)
      stages.push(stage);
    return {
      ...query,
      index: stages.at(-1)?.indexName ?? null,
      isSortedLate: stages[0]?.stage === 'SORT',
      wasted: executionStats.totalDocsExamined - executionStats.nReturned,
    };
  }
}

/** A cursor may be told its order later. */
function noteSort(cursor: { sort: Method }, noted: readonly Query[]): void {
  const sort = cursor.sort.bind(cursor);
  cursor.sort = (spec) => {
    for (const query of noted) query.sort = spec as Query['sort'];
    return sort(spec);
  };
}
