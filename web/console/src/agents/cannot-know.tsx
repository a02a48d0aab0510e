/** The limits of figures that come from calls run again. */
import { Text } from '@mantine/core';

export function CannotKnow({ lines }: { lines: readonly string[] }) {
  return (
    <div>
      <Text size="sm" fw={500}>
        It cannot know
      </Text>
      <ul className="plain-list">
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  );
}
