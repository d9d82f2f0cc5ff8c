import { InvalidArgumentError } from 'commander';
import type { SecretList } from '../../contract/secrets.ts';
import { MAX_OVERLAP_HOURS } from '../../domain/secret-overlap.ts';
import { printLine, printTable, showDate } from '../terminal/output.ts';

/** Signing secrets as people read them, whether they came from the store or over HTTP. */
export function printSecrets({ secrets, publicKey }: SecretList, whenNone: string): void {
  printTable(
    ['secret-id', 'secret', 'created', 'signs until'],
    secrets.map(({ secretId, secret, dateCreated, dateExpires }) => [
      secretId,
      secret,
      showDate(dateCreated),
      showDate(dateExpires),
    ]),
    whenNone,
  );
  printLine();
  printLine(`public key  ${publicKey}`);
}

export function parseOverlapHours(text: string): number {
  const hours = /^[0-9]{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (hours <= MAX_OVERLAP_HOURS) return hours;
  throw new InvalidArgumentError(`Give a whole number of hours from 0 to ${MAX_OVERLAP_HOURS}.`);
}
