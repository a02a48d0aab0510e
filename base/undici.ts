/**
 * The parts of undici that the product uses. The whole of it is twice as large, with mocks, caches and
 * WebSockets, and every part of the product would load it at its start.
 */
import { createRequire } from 'node:module';
import type * as Undici from 'undici';

export type { RequestInit, Response } from 'undici';

const require = createRequire(import.meta.url);
const part = (name: string): unknown => require(`undici/lib/${name}.js`);
const { request: requestOf } = part('api/index') as {
  readonly request: (options: object) => Promise<unknown>;
};
const { getGlobalDispatcher } = part('global') as Pick<typeof Undici, 'getGlobalDispatcher'>;

export const Agent = part('dispatcher/agent') as typeof Undici.Agent;
export const buildConnector = part('core/connect') as typeof Undici.buildConnector;
export const { fetch } = part('web/fetch/index') as Pick<typeof Undici, 'fetch'>;

/** undici's `request`, by the text of a URL. */
export async function request(
  url: string,
  options: Parameters<typeof Undici.request>[1] = {},
): Promise<Undici.Dispatcher.ResponseData> {
  const { origin, pathname, search } = new URL(url);
  const { dispatcher = getGlobalDispatcher(), ...rest } = options;
  const { method = rest.body ? 'PUT' : 'GET' } = rest;
  const target = { ...rest, origin, path: `${pathname}${search}`, method };
  return (await requestOf.call(dispatcher, target)) as Undici.Dispatcher.ResponseData;
}
