import { createObservable } from './observable.ts';

/** The credentials of the signed-in entity. The browser keeps them until the tab is closed or, if remembered, until sign-out. */
export type Session = { readonly entityId: string; readonly apiKey: string };

const STORAGE_KEY = 'paybell-session';

/** Shown on the sign-in form after the server has ended the session. */
export const signOutReason = createObservable<string | null>(null);

export const session = createObservable<Session | null>(restoreSession());

/** Permissions that the API key turned out to lack. The API does not list them; it names one when a request needs it. */
export const missingPermissions = createObservable<ReadonlySet<string>>(new Set());

export function noteMissingPermission(permission: string): void {
  const known = missingPermissions.get();
  if (!known.has(permission)) missingPermissions.set(new Set([...known, permission]));
}

export function signIn(credentials: Session, remember: boolean): void {
  clearStorage();
  (remember ? localStorage : sessionStorage).setItem(STORAGE_KEY, JSON.stringify(credentials));
  signOutReason.set(null);
  session.set(credentials);
}

export function signOut(reason: string | null = null): void {
  clearStorage();
  missingPermissions.set(new Set());
  signOutReason.set(reason);
  session.set(null);
}

// Signing out in one tab signs out every other tab that uses the remembered session.
window.addEventListener('storage', (change) => {
  if (change.key === STORAGE_KEY && change.newValue === null && sessionStorage.getItem(STORAGE_KEY) === null) signOut();
});

function clearStorage(): void {
  localStorage.removeItem(STORAGE_KEY);
  sessionStorage.removeItem(STORAGE_KEY);
}

function restoreSession(): Session | null {
  const stored = sessionStorage.getItem(STORAGE_KEY) ?? localStorage.getItem(STORAGE_KEY);
  if (stored === null) return null;
  try {
    const { entityId, apiKey } = JSON.parse(stored) as Partial<Session>;
    return typeof entityId === 'string' && typeof apiKey === 'string' ? { entityId, apiKey } : null;
  } catch {
    return null;
  }
}
