/** Queries and answers of lists: newest first, paged by page number or by cursor, never both. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';

/** A boolean query parameter. */
export const queryFlag = z
  .enum(['true', 'false', '1', '0'])
  .default('false')
  .transform((value) => value === 'true' || value === '1');

/** Query fields common to all lists. */
export const listQuery = {
  cursor: z.string().max(512).optional(),
  page: z.coerce.number().int().min(1).optional(),
  page_size: z.coerce.number().int().min(1).max(LIMITS.pageSizeMax).default(LIMITS.pageSizeDefault),
  include_total: queryFlag,
};
/** The parsed form of `listQuery`. */
export interface ListQuery {
  readonly cursor?: string | undefined;
  readonly page?: number | undefined;
  readonly page_size: number;
  readonly include_total: boolean;
}

/** Answer schema of a list, with the rows under the given plural name. */
export function listOf<Name extends string, Row extends z.ZodType>(name: Name, row: Row) {
  return z.object({
    ...({ [name]: z.array(row) } as Record<Name, z.ZodArray<Row>>),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
    total: z.number().int().nullable(),
  });
}

/** Answer schema of a list of dependents, which is not paged. */
export const dependentsList = z.object({
  agents: z.array(z.object({ agent_id: z.string(), name: z.string() })),
  total: z.number().int(),
});

/** A row's position in its list. */
export interface Position {
  readonly at: Date;
  readonly id: string;
}

/** Start of a page: the number of rows to skip, or the row to continue after. */
export type ListStart = { readonly skip: number } | { readonly after: Position | null };

/**
 * Reads the start of the page from a list query. Throws `page_and_cursor`, `page_too_deep`,
 * `cursor_undecodable`.
 */
export function listStart(query: ListQuery): ListStart {
  if (query.page !== undefined && query.cursor !== undefined) throw fault('page_and_cursor');
  if (query.page === undefined)
    return { after: query.cursor === undefined ? null : decodeCursor(query.cursor) };
  const skip = (query.page - 1) * query.page_size;
  if (skip > LIMITS.pageOffsetRows) throw fault('page_too_deep');
  return { skip };
}

/** Encodes the last row of a page as an opaque cursor. */
export function encodeCursor(position: Position): string {
  return Buffer.from(JSON.stringify([position.at.getTime(), position.id])).toString('base64url');
}

const cursorContent = z.tuple([z.number().int().min(0).max(8.64e15), z.string().max(128)]);

function decodeCursor(cursor: string): Position {
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    throw fault('cursor_undecodable');
  }
  const parsed = cursorContent.safeParse(content);
  if (!parsed.success) throw fault('cursor_undecodable');
  return { at: new Date(parsed.data[0]), id: parsed.data[1] };
}

/**
 * Normalises a phone number from a query string, where an unescaped plus sign is decoded as a space or may be
 * missing.
 */
export function numberFilter(number: string): string {
  return /^\d+$/.test(number) ? `+${number}` : number.replace(/^ /, '+');
}

/** Builds a case-insensitive pattern that matches the search text literally. */
export function searchPattern(text: string): { $regex: string; $options: 'i' } {
  return { $regex: text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), $options: 'i' };
}
