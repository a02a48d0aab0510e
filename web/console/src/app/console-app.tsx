/** The console: its providers and routes. */
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './console.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { Link, Route, Router, Switch } from 'wouter';
import { ApiError, isKeyRefusal } from '../api/client.ts';
import { forgetKey, storedKey } from '../api/credentials.ts';
import { Page } from '../parts/page.tsx';
import { Loading } from '../parts/states.tsx';
import { Shell } from './shell.tsx';
import { SignInPage } from './sign-in-page.tsx';
import { resolveVariables, theme } from './theme.ts';

/** Each page is a separate chunk, loaded when first opened. */
const PAGES = {
  '/': lazy(() => import('../overview/overview-page.tsx')),
  '/agents': lazy(() => import('../agents/agents-page.tsx')),
  '/agents/:agentId/:tab?': lazy(() => import('../agents/agent-page.tsx')),
  '/tools': lazy(() => import('../tools/tools-page.tsx')),
  '/tools/:toolId': lazy(() => import('../tools/tool-page.tsx')),
  '/tool-servers': lazy(() => import('../tool-servers/tool-servers-page.tsx')),
  '/tool-servers/:serverId': lazy(() => import('../tool-servers/tool-server-page.tsx')),
  '/knowledge': lazy(() => import('../knowledge/knowledge-page.tsx')),
  '/numbers': lazy(() => import('../numbers/numbers-page.tsx')),
  '/calls': lazy(() => import('../calls/calls-page.tsx')),
  '/calls/:sessionId': lazy(() => import('../calls/call-page.tsx')),
  '/text-sessions': lazy(() => import('../text-sessions/text-sessions-page.tsx')),
  '/text-sessions/:sessionId': lazy(() => import('../text-sessions/text-session-page.tsx')),
  '/batch-calls': lazy(() => import('../batch-calls/batch-calls-page.tsx')),
  '/batch-calls/:batchId': lazy(() => import('../batch-calls/batch-call-page.tsx')),
  '/analytics': lazy(() => import('../analytics/analytics-page.tsx')),
  '/webhooks': lazy(() => import('../webhooks/webhooks-page.tsx')),
  '/speech-models': lazy(() => import('../speech-models/speech-models-page.tsx')),
  '/refusals': lazy(() => import('../refusals/refusals-page.tsx')),
  '/agent-tests': lazy(() => import('../agent-tests/agent-tests-page.tsx')),
  '/wallet': lazy(() => import('../wallet/wallet-page.tsx')),
  '/keys': lazy(() => import('../keys/keys-page.tsx')),
} as const;

export default function ConsoleApp() {
  const [isSignedIn, setSignedIn] = useState(() => storedKey() !== null);
  const [isKeyRefused, setKeyRefused] = useState(false);
  const [client] = useState(() =>
    createClient(() => {
      signOut();
      setKeyRefused(true);
    }),
  );
  const signOut = () => {
    forgetKey();
    client.clear();
    setKeyRefused(false);
    setSignedIn(false);
  };
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" cssVariablesResolver={resolveVariables}>
      {/* Over the menu, where it covers no field. */}
      <Notifications position="bottom-left" containerWidth={200} />
      <QueryClientProvider client={client}>
        <Router base="/console">
          {isSignedIn ? (
            <Shell onSignOut={signOut}>
              <Suspense fallback={<Loading />}>
                <Switch>
                  {Object.entries(PAGES).map(([path, Page]) => (
                    <Route key={path} path={path} component={Page} />
                  ))}
                  <Route component={NoSuchPage} />
                </Switch>
              </Suspense>
            </Shell>
          ) : (
            <SignInPage isKeyRefused={isKeyRefused} onSignedIn={() => setSignedIn(true)} />
          )}
        </Router>
      </QueryClientProvider>
    </MantineProvider>
  );
}

function NoSuchPage() {
  return (
    <Page title="There is no page at this address" intro="The link may be cut off or out of date.">
      <Link className="text-link" href="/">
        Overview
      </Link>
    </Page>
  );
}

/** `onKeyRefused` is called if the key is revoked or expires after sign-in. */
function createClient(onKeyRefused: () => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({
      onError: (error) => {
        if (isKeyRefusal(error)) onKeyRefused();
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        // Retries only if the server is unreachable; an error response would not change.
        retry: (failures, error) =>
          failures < 2 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 502),
      },
    },
  });
}
