/**
 * The result of one check. An error keeps the service from working. A warning becomes an error if it is ignored for
 * long.
 */
export type Finding = { check: string; state: 'ok' | 'warning' | 'error'; found: string; fix: string | null };

export function ok(check: string, found: string): Finding {
  return { check, state: 'ok', found, fix: null };
}

export function warning(check: string, found: string, fix: string): Finding {
  return { check, state: 'warning', found, fix };
}

export function failure(check: string, found: string, fix: string): Finding {
  return { check, state: 'error', found, fix };
}
