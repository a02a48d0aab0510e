/** A button for irreversible actions: asks for confirmation and explains the effect. */
import { Button, type ButtonProps, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';

export function ConfirmButton({
  children,
  title,
  text,
  onConfirm,
  ...button
}: ButtonProps & { children: ReactNode; title: string; text: ReactNode; onConfirm: () => void }) {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <>
      <Button variant="default" {...button} onClick={dialog.open}>
        {children}
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title={title} centered>
        <Stack>
          <Text>{text}</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={dialog.close} data-autofocus>
              Cancel
            </Button>
            <Button
              color="red.8"
              onClick={() => {
                dialog.close();
                onConfirm();
              }}
            >
              {children}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
