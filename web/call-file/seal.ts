/** Says whether the file is as it was signed, by which key, and what is wrong otherwise. */
import { KEYS_PATH, type ReadCallFile } from '../../protocol/call-file.ts';
import { dateTime } from '../console/src/parts/format.ts';
import { element } from '../widget/dom.ts';

/** Most problems that are listed: a damaged file may have thousands. */
const MOST_LISTED = 20;

/** Creates the card. */
export function seal({ statement, keyId, problems }: ReadCallFile, redacted: readonly string[]): HTMLElement {
  const isGenuine = problems.length === 0;
  const node = element('section', { class: 'card seal', 'aria-label': 'Signature', role: 'status' });
  node.dataset['verified'] = String(isGenuine);
  if (!isGenuine) node.dataset['problem'] = '';
  node.append(
    element(
      'strong',
      {},
      isGenuine && statement
        ? `Unchanged since it was signed on ${dateTime(statement.signed_at)}`
        : 'Not verified: do not rely on this file',
    ),
  );
  if (!isGenuine)
    node.append(element('ul', {}, ...problems.slice(0, MOST_LISTED).map((text) => element('li', {}, text))));
  if (statement && keyId)
    node.append(
      element(
        'p',
        { class: 'small muted' },
        'Key ',
        element('code', {}, keyId),
        `, which says that it is of ${statement.issuer}. Whether it is, and whether this page itself was ` +
          `changed, only the keys of that deployment (${KEYS_PATH}) tell: `,
        element('code', {}, 'parley verify-call --keys'),
        '.',
      ),
    );
  if (redacted.length > 0)
    node.append(element('p', { class: 'small' }, `Redacted: ${redacted.join(', ')}. The rest is complete.`));
  return node;
}
