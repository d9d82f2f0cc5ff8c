import type { ComponentChildren } from 'preact';
import { createStore, useStore } from './observable.ts';

/** The address bar is the state of a view: its path names the view, its query holds the filters. */
export type Place = { readonly path: string; readonly query: URLSearchParams };

const place = createStore<Place>(here());

function here(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

window.addEventListener('popstate', () => place.set(here()));

export type QueryValues = Readonly<Record<string, string | number | null | undefined>>;

export function usePlace(): Place {
  return useStore(place);
}

/** Where the view was at the moment of the call, for what happens outside of drawing. */
export function currentPlace(): Place {
  return place.get();
}

/** Empty, absent and null values are left out, so that an address says only what was chosen. */
export function addressOf(path: string, values: QueryValues = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

export function go(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  place.set(here());
}

/** The same view with some values of its query changed; the rest stays. */
export function changeQuery(changes: QueryValues, options?: { replace?: boolean }): void {
  const { path, query } = place.get();
  go(addressOf(path, { ...Object.fromEntries(query), ...changes }), options);
}

type LinkProps = {
  to: string;
  class?: string;
  title?: string;
  'aria-label'?: string;
  'aria-current'?: 'page' | undefined;
  children: ComponentChildren;
};

/** A true link, so that it can be opened in another tab, copied and shared; a plain click stays in the page. */
export function Link({ to, children, ...rest }: LinkProps) {
  const onClick = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a {...rest} href={to} onClick={onClick}>
      {children}
    </a>
  );
}
