/** Builds elements without HTML strings, to work under any content security policy and Trusted Types. */

const SVG = 'http://www.w3.org/2000/svg';

type Child = Node | string;

/** Creates an element with attributes (`false` omits one) and children. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string | boolean>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== false) node.setAttribute(name, value === true ? '' : value);
  node.append(...children);
  return node;
}

/** A button with one action. */
export function button(name: string, onPress: () => void, ...children: readonly Child[]): HTMLButtonElement {
  const node = element('button', { type: 'button', class: name, part: name }, ...children);
  node.addEventListener('click', onPress);
  return node;
}

/** A purely decorative icon. */
export function icon(path: string): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  for (const [name, value] of Object.entries({
    viewBox: '0 0 24 24',
    width: '20',
    height: '20',
    'aria-hidden': 'true',
    focusable: 'false',
  }))
    svg.setAttribute(name, value);
  const drawing = document.createElementNS(SVG, 'path');
  drawing.setAttribute('d', path);
  drawing.setAttribute('fill', 'currentColor');
  svg.append(drawing);
  return svg;
}

/** Icons of the widget, each a single path in a 24 × 24 square. */
export const ICONS = {
  close: 'M6.4 5 5 6.4 10.6 12 5 17.6 6.4 19 12 13.4 17.6 19 19 17.6 13.4 12 19 6.4 17.6 5 12 10.6Z',
  microphone:
    'M12 15a3 3 0 0 0 3-3V6a3 3 0 0 0-6 0v6a3 3 0 0 0 3 3Zm5-3a5 5 0 0 1-10 0H5a7 7 0 0 0 6 ' +
    '6.9V22h2v-3.1A7 7 0 0 0 19 12Z',
  hangUp:
    'M12 9c4.6 0 8.3 1.6 10 4.3.4.7.3 1.6-.3 2.2l-1.7 1.5c-.5.5-1.3.5-1.8.1l-2.5-1.9a1.5 1.5 0 0 ' +
    '1-.6-1.4l.1-1.6a12 12 0 0 0-6.4 0l.1 1.6c0 .5-.2 1.1-.6 1.4l-2.5 ' +
    '1.9c-.5.4-1.3.4-1.8-.1l-1.7-1.5c-.6-.6-.7-1.5-.3-2.2C3.7 10.6 7.4 9 12 9Z',
  send: 'M3 20.5V14l8-2-8-2V3.5L22 12Z',
} as const;
