/**
 * Entry point of the pages: the talk page at `/`, the console under `/console`. Each loads only its own code.
 */
import { lazy, StrictMode, Suspense } from 'react';
import { createRoot } from 'react-dom/client';

const TalkPage = lazy(() => import('./talk/talk-page.tsx'));
const ConsoleApp = lazy(() => import('./app/console-app.tsx'));

const root = document.getElementById('root');
if (root) {
  const isConsole = location.pathname === '/console' || location.pathname.startsWith('/console/');
  createRoot(root).render(
    <StrictMode>
      <Suspense>{isConsole ? <ConsoleApp /> : <TalkPage />}</Suspense>
    </StrictMode>,
  );
}
