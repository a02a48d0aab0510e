/** Buttons of an editable list: add and remove. */
import { ActionIcon, Button } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';

/** Adds an entry; `what` names the list if a section has several. */
export function Add({
  what,
  disabled = false,
  onClick,
}: {
  what?: string;
  disabled?: boolean;
  onClick: () => void;
}) {
  return (
    <Button
      size="xs"
      variant="default"
      disabled={disabled}
      onClick={onClick}
      style={{ alignSelf: 'flex-start' }}
    >
      {what === undefined ? 'Add' : `Add ${what}`}
    </Button>
  );
}

/** Removes the entry with this name. */
export function Remove({ what, onClick }: { what: string; onClick: () => void }) {
  return (
    <ActionIcon variant="default" size="lg" aria-label={`Remove ${what}`} onClick={onClick}>
      <IconTrash size={16} />
    </ActionIcon>
  );
}
