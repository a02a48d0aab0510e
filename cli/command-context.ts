/** Dependencies shared by all commands. */
import type { Api } from './api.ts';

/** Access to the API and the common options. */
export interface CommandContext {
  api(): Api;
  /** The product's address; for requests without a key. */
  readonly url: string;
  readonly json: boolean;
}
