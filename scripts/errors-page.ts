/**
 * `npm run docs:errors`: generates docs/errors.md from the table of faults, so that the page is never out of
 * date.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listFaults } from '#config/errors.ts';

/** The page's text. */
export function errorsPage(): string {
  const rows = listFaults().map(
    ({ code, status, message, reason, sip }) =>
      `| \`${code}\` | ${status} | ${message} | ${reason === undefined ? '' : `\`${reason}\``} | ` +
      `${sip ?? ''} |`,
  );
  return [
    '# Errors',
    '',
    '`npm run docs:errors` generates this page from [config/errors.ts](../config/errors.ts).',
    '',
    '- Every JSON error has `status`, `message` and `reason`; the reason is null where the table has none.',
    '- A validation failure (422 without a reason) is a list of `{type, loc, msg, ctx}`.',
    '- A missing `Authorization` is a 401 without a body.',
    '- A missing body or a wrong Content-Type is a 415 without a body.',
    '- The last column is the SIP status that refuses an INVITE.',
    '',
    '| Code | Status | Message | Reason | SIP |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** Path of the page. */
export const ERRORS_PAGE = join(import.meta.dirname, '../docs/errors.md');

if (import.meta.main) writeFileSync(ERRORS_PAGE, errorsPage());
