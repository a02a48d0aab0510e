/** The lines of a text session, oldest first, after those that it knew from before. */
import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { TextSessionDetail } from '../api/types.ts';
import { type Item, ItemNote, Said } from '../calls/item-lines.tsx';

type Conversation = Pick<TextSessionDetail, 'items' | 'created_at' | 'caller_number'>;

/** `children` are further lines at the end. */
export function WrittenItems({ session, children }: { session: Conversation; children?: ReactNode }) {
  const { items, created_at } = session;
  if (items.length === 0 && !children) return <Text c="dimmed">Nothing was written yet.</Text>;
  // Items from before are shown first, and are older than the session.
  const begins = items.findIndex((item) => item.created_at >= created_at);
  const isContinued = begins !== 0 && items.length > 0;
  return (
    <Stack gap={6} component="ol" p={0} m={0} style={{ listStyle: 'none' }} aria-label="Conversation">
      {isContinued && <li className="note-line">Before this session:</li>}
      {items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items are only ever added at the end.
        <li key={index}>
          {index === begins && isContinued && <div className="note-line">In this session:</div>}
          <WrittenItem item={item} person={session.caller_number ?? 'Person'} />
        </li>
      ))}
      {children}
    </Stack>
  );
}

function WrittenItem({ item, person }: { item: Item; person: string }) {
  return item.type === 'message' ? (
    <div className="written">
      <Said item={item} person={person} />
    </div>
  ) : (
    <ItemNote item={item} />
  );
}
