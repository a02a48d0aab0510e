/** Entry of the console: puts the page on the screen. */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { TalkPage } from './talk-page.tsx';
import './styles.css';

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <TalkPage />
    </StrictMode>,
  );
}
