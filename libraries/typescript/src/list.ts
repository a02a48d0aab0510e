/** Paged lists. */

/** A page of a list, as far as paging needs it. */
export interface Page {
  readonly has_more: boolean | null;
  readonly next_cursor?: string | null;
}

/**
 * A list of the API. `for await` reads its rows, page by page as they are needed; `page()` reads only the
 * first, and `pages()` reads all.
 */
export class List<P extends Page, Row> implements AsyncIterable<Row> {
  readonly #read: (query: object) => Promise<P>;
  readonly #query: object;
  readonly #rowsOf: (page: P) => readonly Row[];

  constructor(read: (query: object) => Promise<P>, query: object, rowsOf: (page: P) => readonly Row[]) {
    this.#read = read;
    this.#query = query;
    this.#rowsOf = rowsOf;
  }

  /** The page that the query asks for. */
  page(): Promise<P> {
    return this.#read(this.#query);
  }

  /** That page and all after it. */
  async *pages(): AsyncGenerator<P> {
    for (let query: object | null = this.#query; query; ) {
      const page: P = await this.#read(query);
      yield page;
      query = following(page, query);
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row> {
    for await (const page of this.pages()) yield* this.#rowsOf(page);
  }
}

/** The query of the next page: by cursor, or of a list without cursors by number. */
function following(page: Page, query: object & { readonly page_number?: unknown }): object | null {
  if (!page.has_more) return null;
  if (page.next_cursor) return { ...query, page: undefined, cursor: page.next_cursor };
  return { ...query, page_number: Number(query.page_number ?? 1) + 1 };
}
