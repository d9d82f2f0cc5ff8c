import type { PublicKeyList, SecretList } from '../../contract/secrets.ts';
import { MAX_OVERLAP_HOURS } from '../../domain/secret-overlap.ts';
import { wholeNumber } from '../options/values.ts';
import { printJson, printLine, showDate } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

/** Signing secrets as people read them, whether they come from the store or over HTTP. */
export function printSecrets(list: SecretList, json: boolean, rotateCommand: string): void {
  if (json) {
    printJson(list);
    return;
  }
  // Shows the column only if there is an imported secret, because most entities have none.
  const hasImported = list.secrets.some(({ importedText }) => importedText !== null);
  printTable(
    ['secret-id', 'secret', ...(hasImported ? ['imported as'] : []), 'created', 'signs until'],
    list.secrets.map(({ secretId, secret, importedText, dateCreated, dateExpires }) => [
      secretId,
      secret,
      ...(hasImported ? [importedText ?? '–'] : []),
      showDate(dateCreated),
      showDate(dateExpires),
    ]),
    `No active secrets. Create one: ${rotateCommand}`,
  );
  printLine();
  printKeyTable(list);
}

export function printPublicKeys(list: PublicKeyList, json: boolean): void {
  if (json) printJson(list);
  else printKeyTable(list);
}

function printKeyTable({ publicKeys, keySetPath }: Pick<PublicKeyList, 'publicKeys' | 'keySetPath'>): void {
  printTable(
    ['public key', 'created', 'signs until'],
    publicKeys.map(({ publicKey, dateCreated, dateExpires }) => [
      publicKey,
      showDate(dateCreated),
      showDate(dateExpires),
    ]),
    'No active public keys.',
  );
  printLine();
  printLine(`key set for receivers: ${keySetPath}`);
}

export const parseOverlapHours = wholeNumber(
  0,
  MAX_OVERLAP_HOURS,
  `Give a whole number of hours from 0 to ${MAX_OVERLAP_HOURS}.`,
);
