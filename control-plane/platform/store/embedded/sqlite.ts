/**
 * The SQLite file under the store: prepared statements are kept, and writes gather in one transaction until
 * `commit`.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';

/**
 * Pages of 4 KiB in the write-ahead log after which SQLite checkpoints by itself; the timer of the server
 * keeps it far below.
 */
const AUTOCHECKPOINT_PAGES = 16_000;
const CACHE_KIB = 65_536;

/** One connection. */
export class Sqlite {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #isWriting = false;

  /** Opens a file; a read-only connection sees what was committed when its transaction began. */
  constructor(file: string, access: 'write' | 'read') {
    this.#database = new DatabaseSync(file, { readOnly: access === 'read', timeout: 5_000 });
    if (access === 'read') this.#database.exec(`PRAGMA cache_size=-${CACHE_KIB}; PRAGMA temp_store=MEMORY;`);
    else {
      // FULL: a commit is on the disk before it is acknowledged.
      this.#database.exec(`PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=${AUTOCHECKPOINT_PAGES};
        PRAGMA cache_size=-${CACHE_KIB}; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864; PRAGMA secure_delete=ON;`);
    }
  }

  /** The first row, or undefined. */
  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  /** Every row. */
  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  /**
   * Runs one statement that changes something, inside the group's transaction. Returns the new row's number.
   */
  run(sql: string, ...values: SQLInputValue[]): number {
    this.begin();
    return Number(this.#prepare(sql).run(...values).lastInsertRowid);
  }

  /** Changes the tables themselves, inside the group's transaction. */
  alter(sql: string): void {
    this.begin();
    this.#statements.clear();
    this.#database.exec(sql);
  }

  /** Runs a setting of SQLite, outside any statement cache. */
  pragma(sql: string): Row | undefined {
    return this.#database.prepare(`PRAGMA ${sql}`).get() as Row | undefined;
  }

  /** True between the first write of a group and its commit. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Starts the group's transaction unless it runs. */
  begin(): void {
    if (this.#isWriting) return;
    this.#prepare('BEGIN IMMEDIATE').run();
    this.#isWriting = true;
  }

  /** Makes the group durable. Throws when the disk refuses; `rollback` must follow. */
  commit(): void {
    if (!this.#isWriting) return;
    this.#prepare('COMMIT').run();
    this.#isWriting = false;
  }

  /** Drops the group. SQLite may have dropped it by itself (a full disk). */
  rollback(): void {
    if (!this.#isWriting) return;
    this.#isWriting = false;
    this.#statements.clear();
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  /** Runs `work` so that all of its changes stay or none does. */
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

  /** Runs `work` on one snapshot of what is committed (read-only connections). */
  snapshot<T>(work: () => T): T {
    this.#database.exec('BEGIN');
    try {
      return work();
    } finally {
      this.#database.exec('COMMIT');
    }
  }

  /** Moves the write-ahead log into the file as far as readers allow, without waiting for them. */
  checkpoint(): void {
    this.#database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  }

  /**
   * As `checkpoint`, and empties the log, in which older forms of what was changed or deleted still stand.
   * False while a reader needs it.
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

  /** Closes the connection. */
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

/** One row by column. */
export type Row = Record<string, null | number | bigint | string | Uint8Array>;
