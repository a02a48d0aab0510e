/** What every command is handed. */
import type { Api } from './api.ts';

/** How a command gets at the API and the common options. */
export interface CommandContext {
  api(): Api;
  readonly json: boolean;
}
