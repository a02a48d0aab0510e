/** How lists are asked for and answered: newest first, by page number or by cursor, never by both. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';

/** A boolean of a query string. */
export const queryFlag = z
  .enum(['true', 'false', '1', '0'])
  .default('false')
  .transform((value) => value === 'true' || value === '1');

/** The query fields every list has. */
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

/** Schema of a list's answer under its plural name. */
export function listOf<Name extends string, Row extends z.ZodType>(name: Name, row: Row) {
  return z.object({
    ...({ [name]: z.array(row) } as Record<Name, z.ZodArray<Row>>),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
    total: z.number().int().nullable(),
  });
}

/** Schema of a dependents list, which has no pages. */
export const dependentsList = z.object({
  agents: z.array(z.object({ agent_id: z.string(), name: z.string() })),
  total: z.number().int(),
});

/** A row's place in its list. */
export interface Position {
  readonly at: Date;
  readonly id: string;
}

/** Where a list query starts: a number of rows to skip, or the row after which to go on. */
export type ListStart = { readonly skip: number } | { readonly after: Position | null };

/** Reads a list query's start. Throws `page_and_cursor`, `page_too_deep`, `cursor_undecodable`. */
export function listStart(query: ListQuery): ListStart {
  if (query.page !== undefined && query.cursor !== undefined) throw fault('page_and_cursor');
  if (query.page === undefined)
    return { after: query.cursor === undefined ? null : decodeCursor(query.cursor) };
  const skip = (query.page - 1) * query.page_size;
  if (skip > LIMITS.pageOffsetRows) throw fault('page_too_deep');
  return { skip };
}

/** Makes the opaque cursor of the row a page ends with. */
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

/** A phone number as a query string carries it: a plus sign reads as a space there, or was left out. */
export function numberFilter(number: string): string {
  return /^\d+$/.test(number) ? `+${number}` : number.replace(/^ /, '+');
}

/** Text of a search as a case-insensitive pattern that matches it literally. */
export function searchPattern(text: string): { $regex: string; $options: 'i' } {
  return { $regex: text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), $options: 'i' };
}
