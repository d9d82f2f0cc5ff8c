import { createStore } from './observable.ts';

/** Who is signed in, and for how long the browser remembers it: the tab, or until sign-out. */
export type Session = { readonly entityId: string; readonly apiKey: string };

const KEY = 'paybell-session';

/** Why the sign-in form is shown to somebody who was signed in. */
export const signedOutBecause = createStore<string | null>(null);

export const session = createStore<Session | null>(recall());

/** Permissions that the server has said this key lacks: it alone knows, and says so when one is needed. */
export const lacking = createStore<ReadonlySet<string>>(new Set());

export function noteLacking(permission: string): void {
  if (!lacking.get().has(permission)) lacking.set(new Set([...lacking.get(), permission]));
}

export function signIn(credentials: Session, remember: boolean): void {
  forget();
  (remember ? localStorage : sessionStorage).setItem(KEY, JSON.stringify(credentials));
  signedOutBecause.set(null);
  session.set(credentials);
}

export function signOut(reason: string | null = null): void {
  forget();
  lacking.set(new Set());
  signedOutBecause.set(reason);
  session.set(null);
}

// Signing out in one tab signs out the others that share the remembered key.
window.addEventListener('storage', (change) => {
  if (change.key === KEY && change.newValue === null && sessionStorage.getItem(KEY) === null) signOut();
});

function forget(): void {
  localStorage.removeItem(KEY);
  sessionStorage.removeItem(KEY);
}

function recall(): Session | null {
  const stored = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
  if (stored === null) return null;
  try {
    const { entityId, apiKey } = JSON.parse(stored) as Partial<Session>;
    return typeof entityId === 'string' && typeof apiKey === 'string' ? { entityId, apiKey } : null;
  } catch {
    return null;
  }
}
