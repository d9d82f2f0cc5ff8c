import type { ComponentChildren } from 'preact';
import { createObservable, useObservable } from './observable.ts';

/** The URL is the state of a view: the path selects the view, the query holds its filters. */
export type Route = { readonly path: string; readonly query: URLSearchParams };

const route = createObservable<Route>(readLocation());

function readLocation(): Route {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

window.addEventListener('popstate', () => route.set(readLocation()));

export type QueryValues = Readonly<Record<string, string | number | null | undefined>>;

export function useRoute(): Route {
  return useObservable(route);
}

/** Empty, absent and null values are left out of the URL. */
export function urlFor(path: string, values: QueryValues = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

type HistoryChange = 'push' | 'replace';

export function navigate(url: string, change: HistoryChange = 'push'): void {
  if (change === 'push') history.pushState(null, '', url);
  else history.replaceState(null, '', url);
  route.set(readLocation());
}

/** Navigates to the same view with some query values changed. `replace` leaves no step to go back to. */
export function changeQuery(changes: QueryValues, change?: HistoryChange): void {
  const { path, query } = route.get();
  navigate(urlFor(path, { ...Object.fromEntries(query), ...changes }), change);
}

type LinkProps = {
  to: string;
  class?: string;
  title?: string;
  'aria-label'?: string;
  'aria-current'?: 'page' | undefined;
  children: ComponentChildren;
};

/** A real link, so that it can be copied or opened in another tab. A plain click navigates without loading a document. */
export function Link({ to, children, ...rest }: LinkProps) {
  const onClick = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a {...rest} href={to} onClick={onClick}>
      {children}
    </a>
  );
}
