/** Figures over time, a line for each version. */
import { lazy, Suspense } from 'react';
import { Loading } from '../parts/states.tsx';
import type { VersionLinesProps } from './version-lines-chart.tsx';

/** The charts are a large part of the program, and few agents are looked at here. */
const VersionLinesChart = lazy(() => import('./version-lines-chart.tsx'));

export function VersionLines(props: VersionLinesProps) {
  return (
    <Suspense fallback={<Loading />}>
      <VersionLinesChart {...props} />
    </Suspense>
  );
}
