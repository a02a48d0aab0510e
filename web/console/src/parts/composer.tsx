/** The field that sends a text to an agent, with Enter or its button. */
import { Button, Group, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useRef, useState } from 'react';

export function Composer({
  isLive,
  hint,
  takesFocus = false,
  onSend,
}: {
  isLive: boolean;
  /** Shown while nothing can be sent. */
  hint: string;
  /** Whether it takes the focus when something can be sent. */
  takesFocus?: boolean;
  onSend: (text: string) => void;
}) {
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isLive && takesFocus) input.current?.focus();
  }, [isLive, takesFocus]);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() === '') return;
    onSend(text.trim());
    setText('');
  };
  return (
    <form onSubmit={send}>
      <Group wrap="nowrap">
        <TextInput
          ref={input}
          aria-label="Message"
          placeholder={isLive ? 'Type a message' : hint}
          disabled={!isLive}
          maxLength={8_000}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          style={{ flex: 1 }}
        />
        <Button type="submit" variant="default" disabled={!isLive || text.trim() === ''}>
          Send
        </Button>
      </Group>
    </form>
  );
}
