import { getPriority } from 'node:os';
import { afterEach, expect, it } from 'vitest';
import { favourThisThread, preferThisThread, treatThisThreadAsOthers } from '#media/thread-priority.ts';

afterEach(treatThisThreadAsOthers);

it('the media thread goes before the loops a conversation waits for, and they before the rest; where that is not allowed nothing changes', () => {
  treatThisThreadAsOthers();
  const others = getPriority();
  favourThisThread();
  const favoured = getPriority();
  preferThisThread();
  const preferred = getPriority();
  // A lower number goes first.
  expect(favoured).toBeLessThanOrEqual(others);
  expect(preferred).toBeLessThanOrEqual(favoured);
  treatThisThreadAsOthers();
  expect(getPriority()).toBe(others);
});
