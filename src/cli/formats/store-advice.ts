import type { StoreUnavailableError, UnavailableReason } from '../../store/database/database.ts';

const ADVICE: Readonly<Record<UnavailableReason, string>> = {
  disk_full: 'Free some space, then try again.',
  read_only: 'Make it writable for the user that runs Paybell, or set DATABASE_URL.',
  no_answer: 'Check that DATABASE_URL names a server that is running, or a file that is an SQLite database.',
};

/** Advice for a database that is not available. */
export function storeAdvice({ reason }: StoreUnavailableError): string {
  return ADVICE[reason];
}
