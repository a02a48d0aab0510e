/** Buttons of an editable list: add and remove. */
import { ActionIcon, Button } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';

/** Adds an entry; `label` names it if a section has several lists. */
export function Add({
  label,
  disabled = false,
  onClick,
}: {
  label?: string;
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
      {label === undefined ? 'Add' : `Add ${label}`}
    </Button>
  );
}

/** Removes the entry with this name. */
export function Remove({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <ActionIcon variant="default" size="lg" aria-label={`Remove ${label}`} onClick={onClick}>
      <IconTrash size={16} />
    </ActionIcon>
  );
}
