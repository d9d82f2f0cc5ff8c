import { PERMISSIONS, type Permission } from '../domain/keys/api-keys.ts';
import { createObservable } from './observable.ts';

/** The credentials of the signed-in entity. The browser keeps them until the tab is closed or, if remembered, until sign-out. */
export type Session = { readonly entityId: string; readonly apiKey: string };

const STORAGE_KEY = 'paybell-session';

/** Shown on the sign-in form after the server has ended the session. */
export const signOutReason = createObservable<string | null>(null);

export const session = createObservable<Session | null>(restoreSession());

/** Permissions that the API key lacks, so that what needs them can be disabled before anyone tries it. */
export const missingPermissions = createObservable<ReadonlySet<string>>(new Set());

/** What the server says that the key may do. */
export function setPermissions(permissions: readonly Permission[]): void {
  missingPermissions.set(new Set(PERMISSIONS.filter((permission) => !permissions.includes(permission))));
}

/** What a response has named. It may be newer than what was known, or than the dashboard. */
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

// A remembered session is that of every tab: signing in or out in one does the same in those that have no session of their own.
window.addEventListener('storage', (change) => {
  if (change.key !== STORAGE_KEY || sessionStorage.getItem(STORAGE_KEY) !== null) return;
  if (change.newValue === null) signOut();
  else if (session.get() === null) session.set(restoreSession());
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
