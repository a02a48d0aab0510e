/** Buttons of an editable list: one more, and away with one. */
import { ActionIcon, Button } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';

/** One more; `what` names it where several lists share a section. */
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

/** Away with one, told by its name. */
export function Remove({ what, onClick }: { what: string; onClick: () => void }) {
  return (
    <ActionIcon variant="default" size="lg" aria-label={`Remove ${what}`} onClick={onClick}>
      <IconTrash size={16} />
    </ActionIcon>
  );
}
