/** What one check of `paybell doctor` came to. A fault keeps the service from doing its work; a warning will, one day. */
export type Finding = { check: string; state: 'ok' | 'warning' | 'fault'; found: string; mend: string | null };

export function ok(check: string, found: string): Finding {
  return { check, state: 'ok', found, mend: null };
}

export function warning(check: string, found: string, mend: string): Finding {
  return { check, state: 'warning', found, mend };
}

export function fault(check: string, found: string, mend: string): Finding {
  return { check, state: 'fault', found, mend };
}
