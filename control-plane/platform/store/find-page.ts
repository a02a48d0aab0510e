/**
 * Reads one page of a list, newest first, by the shared list rules. The model needs an index {…filter,
 * <time>: -1, _id: -1}.
 */
import type { Model } from 'mongoose';
import { LIMITS } from '#config/limits.ts';
import { encodeCursor, type ListQuery, listStart, type Position } from '../http/lists.ts';

/** A page of rows and the paging fields of the answer. */
export interface Page<Row> {
  readonly rows: Row[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
  /** At most `LIMITS.countedRows`, because counting means reading. */
  readonly total: number | null;
}

/** Options of a list query. */
export interface PageRequest {
  readonly filter: Readonly<Record<string, unknown>>;
  readonly query: ListQuery;
  /** Field that orders the list; `created_at` by default. */
  readonly timeField?: string;
  /** Fields omitted from the rows. */
  readonly without?: readonly string[];
}

/** Reads a page. Throws the faults of `listStart`. */
export async function findPage<Row extends { _id: string }>(
  model: Model<Row>,
  request: PageRequest,
): Promise<Page<Row>> {
  const { filter, query } = request;
  const timeField = request.timeField ?? 'created_at';
  const start = listStart(query);
  const after = 'after' in start ? start.after : null;
  const projection = Object.fromEntries((request.without ?? []).map((field) => [field, 0]));
  const found = await model
    // The cursor comes first: of two upper bounds on the time it is the tighter one, and the embedded planner
    // uses the first.
    .find(after ? { $and: [rowsAfter(timeField, after), filter] } : filter, projection)
    .sort({ [timeField]: -1, _id: -1 })
    .skip('skip' in start ? start.skip : 0)
    .limit(query.page_size + 1)
    .lean<Row[]>();
  const rows = found.slice(0, query.page_size);
  const last = rows.at(-1);
  const hasMore = found.length > rows.length;
  const wantsTotal = 'skip' in start || query.include_total;
  return {
    rows,
    has_more: hasMore,
    next_cursor:
      hasMore && last
        ? encodeCursor({ at: (last as unknown as Record<string, Date>)[timeField] as Date, id: last._id })
        : null,
    total: wantsTotal ? await model.countDocuments(filter).limit(LIMITS.countedRows) : null,
  };
}

/** The outer bound lets the index scan start at the cursor instead of the newest row. */
export function rowsAfter(timeField: string, after: Position): Record<string, unknown> {
  return {
    [timeField]: { $lte: after.at },
    $or: [{ [timeField]: { $lt: after.at } }, { _id: { $lt: after.id } }],
  };
}
