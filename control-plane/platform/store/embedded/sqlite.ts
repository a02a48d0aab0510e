/**
 * The SQLite file of the store. Prepared statements are cached, and writes share one transaction until
 * `commit`.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

/**
 * Size of the write-ahead log, in 4 KiB pages, at which a commit also checkpoints. The server makes the log
 * begin anew long before, unless a long read keeps it.
 */
const AUTOCHECKPOINT_PAGES = 16_000;
/**
 * Of each connection. Pages beyond it come from the page cache of the system, which costs no measurable CPU;
 * a larger one fills up over thousands of calls and looks like a leak.
 */
const CACHE_KIB = 16_384;

/** A SQLite connection. */
export class Sqlite {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #isWriting = false;

  /** Opens a file. A read-only connection sees the data committed when its transaction began. */
  constructor(file: string, access: 'write' | 'read') {
    this.#database = new DatabaseSync(file, { readOnly: access === 'read', timeout: 5_000 });
    if (access === 'read') this.#database.exec(`PRAGMA cache_size=-${CACHE_KIB}; PRAGMA temp_store=MEMORY;`);
    else {
      // FULL: a commit is on disk before it is acknowledged.
      this.#database.exec(`PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=${AUTOCHECKPOINT_PAGES};
        PRAGMA cache_size=-${CACHE_KIB}; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864; PRAGMA secure_delete=ON;`);
    }
  }

  /** Returns the first row, or undefined. */
  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  /** Returns all rows. */
  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  /** Runs a write statement in the group's transaction. Returns the number of the inserted row. */
  run(sql: string, ...values: SQLInputValue[]): number {
    this.begin();
    return Number(this.#prepare(sql).run(...values).lastInsertRowid);
  }

  /** Runs a schema change in the group's transaction. */
  alter(sql: string): void {
    this.begin();
    this.#statements.clear();
    this.#database.exec(sql);
  }

  /** Runs a PRAGMA, bypassing the statement cache. */
  pragma(sql: string): Row | undefined {
    return this.#database.prepare(`PRAGMA ${sql}`).get() as Row | undefined;
  }

  /** True between the first write of a group and its commit. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Starts the group's transaction if none is open. */
  begin(): void {
    if (this.#isWriting) return;
    this.#prepare('BEGIN IMMEDIATE').run();
    this.#isWriting = true;
  }

  /** Makes the group durable. If it throws because of the disk, `rollback` must follow. */
  commit(): void {
    if (!this.#isWriting) return;
    this.#prepare('COMMIT').run();
    this.#isWriting = false;
  }

  /** Rolls back the group, unless SQLite has already done so (disk full). */
  rollback(): void {
    if (!this.#isWriting) return;
    this.#isWriting = false;
    this.#statements.clear();
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  /** Runs `work` atomically: all of its changes are kept, or none. */
  atomically<T>(work: () => T): T {
    this.begin();
    this.#database.exec('SAVEPOINT step');
    try {
      const result = work();
      this.#database.exec('RELEASE step');
      return result;
    } catch (error) {
      this.#statements.clear();
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK TO step; RELEASE step');
      throw error;
    }
  }

  /** Runs `work` on one snapshot of the committed data (read-only connections). */
  snapshot<T>(work: () => T): T {
    this.#database.exec('BEGIN');
    try {
      return work();
    } finally {
      this.#database.exec('COMMIT');
    }
  }

  /**
   * Copies the write-ahead log into the database file as far as readers allow, without waiting for them. May
   * run on another connection than the writer's, without blocking it. Returns the length of the log, pages.
   */
  checkpoint(): number {
    return Number(this.pragma('wal_checkpoint(PASSIVE)')?.['log'] ?? 0);
  }

  /**
   * Like `checkpoint`, but also empties the log, which still contains old versions of changed and deleted
   * data. False if a reader or another checkpoint still needs it.
   */
  emptyLog(): boolean {
    const busyMs = this.pragma('busy_timeout')?.['timeout'];
    this.pragma('busy_timeout=0');
    try {
      return this.pragma('wal_checkpoint(TRUNCATE)')?.['busy'] === 0;
    } finally {
      this.pragma(`busy_timeout=${String(busyMs)}`);
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** A row, by column name. */
export type Row = Record<string, null | number | bigint | string | Uint8Array>;
