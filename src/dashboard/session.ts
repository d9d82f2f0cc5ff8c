import { PERMISSIONS, type Permission } from '../domain/keys/api-keys.ts';
import { createObservable } from './observable.ts';

/**
 * The key and the entity that it acts for, which is empty while an operator sees all entities. The browser keeps both until
 * the tab is closed or, if remembered, until sign-out.
 */
export type Session = { readonly entityId: string; readonly apiKey: string };

const STORAGE_KEY = 'paybell-session';
/** The entity that an operator has opened in this tab, even if the key is remembered for all tabs. */
const VISITED_KEY = 'paybell-visited';

/** Shown on the sign-in form after the server has ended the session. */
export const signOutReason = createObservable<string | null>(null);

export const session = createObservable<Session | null>(restoreSession());

/** Permissions that the API key lacks, so that the dashboard can disable the actions that need them. */
export const missingPermissions = createObservable<ReadonlySet<string>>(new Set());

/** Stores the permissions that the server has returned for the key. */
export function setPermissions(permissions: readonly Permission[]): void {
  missingPermissions.set(new Set(PERMISSIONS.filter((permission) => !permissions.includes(permission))));
}

/** Adds a permission that a response has named. It may be newer than the dashboard. */
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

/** Changes the entity that an operator sees. An empty ID leads back to all entities. */
export function switchEntity(entityId: string): void {
  const active = session.get();
  if (active === null) return;
  sessionStorage.setItem(VISITED_KEY, entityId);
  missingPermissions.set(new Set());
  session.set({ ...active, entityId });
}

export function signOut(reason: string | null = null): void {
  clearStorage();
  missingPermissions.set(new Set());
  signOutReason.set(reason);
  session.set(null);
}

// Every tab shares a remembered session. Signing in or out in one tab does the same in the other tabs, unless they have
// another session.
window.addEventListener('storage', (change) => {
  if (change.key !== STORAGE_KEY || sessionStorage.getItem(STORAGE_KEY) !== null) return;
  if (change.newValue === null) signOut();
  else if (session.get() === null) session.set(restoreSession());
});

function clearStorage(): void {
  localStorage.removeItem(STORAGE_KEY);
  sessionStorage.removeItem(STORAGE_KEY);
  sessionStorage.removeItem(VISITED_KEY);
}

function restoreSession(): Session | null {
  const stored = sessionStorage.getItem(STORAGE_KEY) ?? localStorage.getItem(STORAGE_KEY);
  if (stored === null) return null;
  try {
    const { entityId, apiKey } = JSON.parse(stored) as Partial<Session>;
    if (typeof entityId !== 'string' || typeof apiKey !== 'string') return null;
    return { entityId: sessionStorage.getItem(VISITED_KEY) ?? entityId, apiKey };
  } catch {
    return null;
  }
}
