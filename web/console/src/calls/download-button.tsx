/** A button that opens a dialog with choices, and downloads the file that they describe. */
import { Button, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { messageOf, useChange } from '../api/queries.ts';
import { saveFile } from '../parts/save-file.ts';

interface DownloadButtonProps {
  readonly label: string;
  readonly title: string;
  readonly text: ReactNode;
  /** Name of the file. */
  readonly name: string;
  readonly makeFile: () => Promise<Blob>;
  /** Whether a choice is missing. */
  readonly isIncomplete?: boolean;
  /** The choices. */
  readonly children: ReactNode;
}

export function DownloadButton({ label, title, text, children, ...file }: DownloadButtonProps) {
  const [isOpen, dialog] = useDisclosure(false);
  const making = useChange(async () => saveFile(await file.makeFile(), file.name), {
    touches: [],
    quiet: true,
    onDone: dialog.close,
  });
  return (
    <>
      <Button variant="default" onClick={dialog.open}>
        {label}
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title={title}>
        <Stack>
          <Text size="sm">{text}</Text>
          {children}
          <Button
            loading={making.isPending}
            disabled={file.isIncomplete === true}
            onClick={() => making.mutate()}
          >
            Download
          </Button>
          <div role="status">{making.error && <Text size="sm">{messageOf(making.error)}</Text>}</div>
        </Stack>
      </Modal>
    </>
  );
}
