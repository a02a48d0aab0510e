/** The field that sends a text to an agent, with Enter or its button. */
import { Button, Group, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { isFocusLost } from './focus.ts';

export function Composer({
  isLive,
  hint,
  focusWhen = null,
  onSend,
}: {
  isLive: boolean;
  /** Shown while nothing can be sent. */
  hint: string;
  /** Whenever this changes, the field takes the focus if nothing else on the page has it; null: never. */
  focusWhen?: number | null;
  onSend: (text: string) => void;
}) {
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isLive && focusWhen !== null && isFocusLost()) input.current?.focus();
  }, [isLive, focusWhen]);
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
