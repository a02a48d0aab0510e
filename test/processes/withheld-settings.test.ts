import { expect, it } from 'vitest';
import { FILE_SETTINGS } from '#config/secret-files.ts';
import { VENDOR_NAMES } from '#config/vendors.ts';
import { WITHHELD_SETTINGS } from '#processes/withheld-settings.ts';

/** With these, workers reach the control plane, signalling, relays and vendors. */
const NEEDED = [
  'WORKER_TOKEN',
  'DRACHTIO_SECRET',
  'ICE_SERVERS',
  ...VENDOR_NAMES.map((vendor) => `${vendor.toUpperCase()}_API_KEY`),
];

it('workers and signalling get no secret that they do not need', () => {
  const secrets = FILE_SETTINGS.filter((name) => !NEEDED.includes(name));
  expect(WITHHELD_SETTINGS).toEqual(expect.arrayContaining(secrets));
});
