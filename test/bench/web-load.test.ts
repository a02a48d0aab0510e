import { expect, it } from 'vitest';
import { webFigure } from '#bench/web-load.ts';

it('judges a call in a LiveKit room by a budget of its own', () => {
  expect(webFigure('direct', 5, 2)).toMatchObject({ load: '5 direct calls', verdict: 'missed' });
  expect(webFigure('room', 5, 2)).toMatchObject({ load: '5 calls in LiveKit rooms', verdict: 'met' });
});

it('keeps the row of what could not be measured, with the reason', () => {
  expect(webFigure('room', 5, 'no LiveKit server on this machine')).toMatchObject({
    load: '5 calls in LiveKit rooms: no LiveKit server on this machine',
    value: '–',
    budget: '≤ 3 s',
    verdict: 'not measured',
    samples: 0,
  });
});
