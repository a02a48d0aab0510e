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
      `| \`${code}\` | ${status} | ${message} | ${reason === undefined ? '' : `\`${reason}\``} | ${sip ?? ''} |`,
  );
  return [
    '# Errors',
    '',
    'Made by `npm run docs:errors` from [config/errors.ts](../config/errors.ts). Every JSON error has `status`, `message` and `reason` (null where the table has none);',
    'a validation failure (422 without a reason) is a list of `{type, loc, msg, ctx}`; a missing `Authorization` is a bare 401, a missing body or wrong Content-Type a bare 415.',
    'The last column is what an INVITE is refused with.',
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
