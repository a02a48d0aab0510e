import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { LIMITS } from '#config/limits.ts';
import { openTestApi, type TestApi } from '../../test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

it('store 13: the total of a list is counted only up to a limit', async () => {
  const aggregate = vi.spyOn(api.context.models.sessions.collection, 'countDocuments');
  const { status, body } = await api.request('GET', '/v1/agent/sessions?include_total=true', {
    key: api.rootKey,
  });
  expect([status, body.total]).toEqual([200, 0]);
  expect(aggregate.mock.calls[0]?.[1]).toMatchObject({ limit: LIMITS.countedRows });
  aggregate.mockRestore();
  const { tools } = api.context.models;
  expect(await tools.countDocuments({}).limit(1)).toBeLessThanOrEqual(1);
});
