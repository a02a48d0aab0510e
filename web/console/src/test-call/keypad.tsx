/** A phone keypad: digits reach the agent as from a phone, as one entry after # or a pause. */
import { Button, SimpleGrid, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';

const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '0', '#'];
/** As on the phone: the default of `keypad_input.inter_digit_timeout_seconds`. */
const PAUSE_MS = 2_000;

export function Keypad({ isLive, onEntry }: { isLive: boolean; onEntry: (digits: string) => void }) {
  const [digits, setDigits] = useState('');
  const send = useRef(onEntry);
  send.current = onEntry;
  useEffect(() => {
    if (digits === '') return;
    const timer = setTimeout(() => {
      send.current(digits);
      setDigits('');
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [digits]);
  const press = (key: string) => {
    if (key !== '#') return setDigits((before) => before + key);
    if (digits !== '') onEntry(digits);
    setDigits('');
  };
  return (
    <div>
      <Text size="sm" c="dimmed" mih={22} aria-live="polite" className="mono">
        {digits === '' ? 'Keypad' : digits}
      </Text>
      <SimpleGrid cols={3} spacing={6} maw={220} role="group" aria-label="Keypad">
        {KEYS.map((key) => (
          <Button key={key} variant="default" disabled={!isLive} onClick={() => press(key)}>
            {key}
          </Button>
        ))}
      </SimpleGrid>
    </div>
  );
}
